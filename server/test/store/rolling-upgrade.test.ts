import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { addedVersion, withAddedStep } from '../../../experiments/support/added-step.ts';
import { execute } from '../../../experiments/support/schema-databases.ts';
import { citusUrl } from '../citus/cluster.ts';
import { type HttpResponse, newFolder, type ServerProcess, sendRequest, serve } from '../support/cli-helpers.ts';
import { makeTwoTenants, message, ndjson, newDatabaseWith, parseLines, shortOrLong } from '../support/harness.ts';
import { itLong } from '../support/long.ts';
import { until } from '../support/until.ts';

const instanceCount = shortOrLong(1, 2);
/** Responses of every instance before the next step. */
const responsesMin = 8;
const retryMillis = 50;
/** More than Citus writes one by one: such an append is committed on several nodes. */
const conversationCount = 12;

type Send = (base: string, n: number) => Promise<HttpResponse>;

/**
 * Clients behind a proxy: each request goes to one of the instances in `rotation`, and is sent again after 503, or if an
 * instance that has left the rotation ends before it responds.
 */
class Clients {
  readonly rotation: ServerProcess[];
  readonly failed: string[] = [];
  readonly #responses = new Map<string, number>();
  readonly #loops: Promise<void>[] = [];
  #isRunning = true;

  constructor(rotation: ServerProcess[]) {
    this.rotation = rotation;
  }

  /** Sends requests one after another. `acknowledge` gets the number of each that succeeded. */
  start(name: string, send: Send, acknowledge: (n: number) => void = () => undefined): void {
    const loop = async () => {
      for (let n = 0; this.#isRunning; n += 1) {
        while (!(await this.#succeeds(name, send, n))) {
          if (!this.#isRunning) return;
          await sleep(retryMillis);
        }
        acknowledge(n);
      }
    };
    this.#loops.push(loop());
  }

  async #succeeds(name: string, send: Send, n: number): Promise<boolean> {
    const instance = this.rotation[n % this.rotation.length];
    if (instance === undefined) throw new Error('no instance is in the rotation');
    const { base } = instance;
    try {
      const { status, text } = await send(base, n);
      this.#responses.set(base, (this.#responses.get(base) ?? 0) + 1);
      if (status !== 200 && status !== 503) this.failed.push(`${name}: ${status} ${text}`);
      // What failed is reported at the end; it would fail again.
      return status !== 503;
    } catch (error) {
      if (this.rotation.includes(instance)) this.failed.push(`${name}: ${(error as Error).cause ?? error}`);
      return false;
    }
  }

  /** Waits until every instance in the rotation has responded several times more. */
  async waitForAll(): Promise<void> {
    const before = new Map(this.#responses);
    const more = ({ base }: ServerProcess) => (this.#responses.get(base) ?? 0) - (before.get(base) ?? 0);
    await until(() => this.rotation.every((instance) => more(instance) >= responsesMin));
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await Promise.all(this.#loops);
  }
}

/** The messages that the feed lists after a cursor, or from the start, and the cursor behind them. */
async function readFeed(base: string, key: string, start?: string): Promise<{ ids: Set<string>; cursor: string }> {
  const ids = new Set<string>();
  for (let cursor = start; ; ) {
    const after = cursor === undefined ? '' : `&after=${cursor}`;
    const { body } = await sendRequest(base, `/admin/changes?kinds=message&include=none${after}`, key);
    for (const { id } of body.data) ids.add(id);
    cursor = body.cursor as string;
    if (!body.has_more) return { ids, cursor };
  }
}

async function install(t: TestContext) {
  const { one, admin, records } = makeTwoTenants();
  const conversations = Array.from({ length: conversationCount }, (): string => randomUUID());
  const { url, remove } = await newDatabaseWith('postgres', [
    ...records,
    ...conversations.map((id) => ({ record: 'conversation', id, app_id: one.ids.app, user: 'ann', created_at: 1 })),
  ]);
  t.after(remove);
  return { url, one, admin, conversations, cwd: await newFolder(t) };
}

/** In `npm run test:all` and `npm run test:citus`: it takes eight seconds of processor time. */
const itWhereLong = citusUrl === undefined ? itLong : it;

describe('a rolling upgrade to a version with a migration step more', () => {
  itWhereLong('loses no write, of either version, and no request fails except with 503', async (t) => {
    const { url, one, admin, conversations, cwd } = await install(t);
    const env = { DATABASE_URL: url };
    const older = await Promise.all(Array.from({ length: instanceCount }, () => serve(t, { cwd, env })));
    const { cursor } = await readFeed(older[0]?.base ?? '', admin);
    const clients = new Clients([...older]);
    t.after(() => clients.stop());

    const acknowledged = { messages: new Set<string>(), content: '', name: '' };
    const name = (n: number) => `name ${n}`;
    const append = (ids: readonly string[], key: string) => {
      // A request that is sent again has the same messages.
      let sent: { n: number; messages: { id: string }[] } = { n: -1, messages: [] };
      const write: Send = (base, n) => {
        if (sent.n !== n) sent = { n, messages: ids.map((id) => message(id, 1_000 + n)) };
        return sendRequest(base, '/admin/records', key, { method: 'POST', lines: ndjson(sent.messages) });
      };
      const acknowledge = () => {
        for (const { id } of sent.messages) acknowledged.messages.add(id);
      };
      return [write, acknowledge] as const;
    };
    const [renamed = ''] = conversations;
    clients.start('append', ...append(conversations.slice(0, 1), one.keys.writer));
    clients.start('append to several', ...append(conversations, admin));
    clients.start(
      'edit',
      (base, n) =>
        sendRequest(base, one.chunkPath, one.keys.knowledge, { method: 'PATCH', json: { content: name(n) } }),
      (n) => {
        acknowledged.content = name(n);
      },
    );
    clients.start(
      'rename',
      (base, n) =>
        sendRequest(base, `/v1/conversations/${renamed}/name`, one.keys.app, {
          method: 'POST',
          json: { name: name(n), user: 'ann' },
        }),
      (n) => {
        acknowledged.name = name(n);
      },
    );
    clients.start('page', (base) => sendRequest(base, `/v1/messages?conversation_id=${renamed}`, one.keys.app));
    clients.start('list', (base) => sendRequest(base, '/v1/conversations?user=ann', one.keys.app));
    await clients.waitForAll();

    for (const instance of older) {
      const newer = await serve(t, { cwd, env: { ...env, ...withAddedStep() } });
      clients.rotation.push(newer);
      await clients.waitForAll();
      clients.rotation.splice(clients.rotation.indexOf(instance), 1);
      instance.signal('SIGTERM');
      assert.deepEqual(await instance.ended, { code: 0, signal: null }, instance.output());
      await clients.waitForAll();
    }
    await clients.stop();
    assert.deepEqual([...new Set(clients.failed)], []);
    const [row] = await execute({ engine: 'postgres', url, remove: async () => undefined }, [
      { text: 'SELECT MAX(version) AS version FROM schema_migrations' },
    ]);
    assert.equal(Number(row?.version), addedVersion);

    const [{ base } = { base: '' }] = clients.rotation;
    const stored = parseLines((await sendRequest(base, '/admin/records', admin)).text);
    const countOf = Map.groupBy(stored, ({ id }) => id);
    assert.ok(acknowledged.messages.size > conversationCount);
    assert.deepEqual(
      [...acknowledged.messages].filter((id) => countOf.get(id)?.length !== 1),
      [],
    );
    assert.equal(countOf.get(renamed)?.[0]?.name, acknowledged.name);
    assert.equal(countOf.get(one.ids.chunk)?.[0]?.content, acknowledged.content);
    const { ids } = await readFeed(base, admin, cursor);
    assert.deepEqual(
      [...acknowledged.messages].filter((id) => !ids.has(id)),
      [],
    );
  });
});
