import { setTimeout as sleep } from 'node:timers/promises';
import { type ServerProcess, sendRequest } from '../../server/test/support/cli-helpers.ts';
import type { makeTwoTenants } from '../../server/test/support/harness.ts';

type World = ReturnType<typeof makeTwoTenants>;

const recoveryMillisMax = 60_000;

/** Writes and reads, and stores which writes were acknowledged. */
export class Client {
  readonly acknowledged: string[] = [];
  readonly #serving: ServerProcess;
  readonly #world: World;
  #sent = 0;

  constructor(serving: ServerProcess, world: World) {
    this.#serving = serving;
    this.#world = world;
  }

  async write(): Promise<number> {
    const { one } = this.#world;
    const content = `${this.#sent++} `.padEnd(20_000, 'text ');
    const { status, headers, body } = await sendRequest(this.#serving.base, one.chunkPath, one.keys.knowledge, {
      method: 'PATCH',
      json: { content },
    });
    if (status === 200) this.acknowledged.push(content);
    const isWellFormed =
      status !== 503 || (/^\d+$/.test(headers.get('retry-after') ?? '') && !/disk|sql/i.test(body.message));
    return isWellFormed ? status : 0;
  }

  /** Reads the change feed, or a different page each time, so that it comes from the file and not from a cache. */
  async read(at: number): Promise<number> {
    const { one, admin } = this.#world;
    if (at % 4 === 0) return (await sendRequest(this.#serving.base, '/admin/changes', admin)).status;
    const path = `/v1/messages?conversation_id=${one.ids.conversation}&limit=${1 + (at % 100)}`;
    return (await sendRequest(this.#serving.base, path, one.keys.app)).status;
  }

  async writeUntilRejected(): Promise<void> {
    for (let at = 0; at < 10_000; at += 1) if ((await this.write()) !== 200) return;
    throw new Error('the disk never became full');
  }

  /** Milliseconds until three writes in a row are accepted. */
  async millisUntilAccepted(): Promise<number> {
    const startedAt = performance.now();
    for (let inARow = 0; inARow < 3; ) {
      inARow = (await this.write()) === 200 ? inARow + 1 : 0;
      if (performance.now() - startedAt > recoveryMillisMax) return Number.POSITIVE_INFINITY;
      if (inARow === 0) await sleep(50);
    }
    return performance.now() - startedAt;
  }

  async #records(): Promise<Record<string, unknown>[]> {
    const { text } = await sendRequest(this.#serving.base, '/admin/records', this.#world.admin);
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  }

  async messages(query: string): Promise<unknown[]> {
    return (await this.#records()).filter((record) => record.record === 'message' && record.query === query);
  }

  /** Number of acknowledged texts that are neither the current text nor a revision. */
  async countLost(): Promise<number> {
    const stored = new Set((await this.#records()).map(({ content }) => content));
    return this.acknowledged.filter((content) => !stored.has(content)).length;
  }

  /** Error lines of the log. */
  errorLines(): string[] {
    return this.#serving
      .output()
      .split('\n')
      .filter((line) => line.includes('"level":50'));
  }
}
