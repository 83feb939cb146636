import { setTimeout as sleep } from 'node:timers/promises';
import { type ServerProcess, sendRequest } from '../../test/support/cli-helpers.ts';
import type { makeTwoTenants } from '../../test/support/harness.ts';

type World = ReturnType<typeof makeTwoTenants>;

const healMillisMax = 60_000;

/** Writes and reads, and remembers what it was told. */
export class Client {
  readonly taken: string[] = [];
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
    if (status === 200) this.taken.push(content);
    const isPlain =
      status !== 503 || (/^\d+$/.test(headers.get('retry-after') ?? '') && !/disk|sql/i.test(body.message));
    return isPlain ? status : 0;
  }

  /** Another page each time, so that it comes out of the file and not out of a cache. */
  async read(at: number): Promise<number> {
    const { one } = this.#world;
    const path = `/v1/messages?conversation_id=${one.ids.conversation}&limit=${1 + (at % 100)}`;
    return (await sendRequest(this.#serving.base, path, one.keys.app)).status;
  }

  async untilRefused(): Promise<void> {
    for (let at = 0; at < 10_000; at += 1) if ((await this.write()) !== 200) return;
    throw new Error('the disk never got full');
  }

  /** Milliseconds until writes are taken again, three in a row. */
  async untilTaken(): Promise<number> {
    const began = performance.now();
    for (let inARow = 0; inARow < 3; ) {
      inARow = (await this.write()) === 200 ? inARow + 1 : 0;
      if (performance.now() - began > healMillisMax) return Number.POSITIVE_INFINITY;
      if (inARow === 0) await sleep(50);
    }
    return performance.now() - began;
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

  /** How many texts that were acknowledged are neither what stands nor a revision. */
  async lost(): Promise<number> {
    const kept = new Set((await this.#records()).map(({ content }) => content));
    return this.taken.filter((content) => !kept.has(content)).length;
  }

  /** Lines of the log that say what is wrong. */
  complaints(): string[] {
    return this.#serving
      .output()
      .split('\n')
      .filter((line) => line.includes('"level":50'));
  }
}
