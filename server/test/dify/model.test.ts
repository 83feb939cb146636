import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import pg from 'pg';
import type { Store } from '../../src/domain/store/store.ts';
import { createDify, type DifyDatabase, difyId, difyRows, ids } from '../support/dify-database.ts';
import { onEveryEngine, startService } from '../support/harness.ts';
import { shortOrLong } from '../support/long.ts';
import { until, untilEqual } from '../support/until.ts';
import { exportOf, runImport, verify } from './runs.ts';

/**
 * What a Dify installation may do to a row, in any order, while it is followed. `nth` chooses the row among those that exist.
 * `clock`: the time of Dify's clock, in seconds from now.
 */
type Step =
  | { do: 'begin conversation' | 'begin message' | 'pause message'; nth: number; clock: number }
  | {
      do: 'finish message' | 'rate' | 'withdraw' | 'rename' | 'hide' | 'delete' | 'restore';
      nth: number;
      clock: number;
    }
  | {
      do: 'edit chunk' | 'delete chunk' | 'restore chunk' | 'delete segment' | 'restore segment';
      nth: number;
      clock: number;
    }
  | { do: 'open transaction' | 'commit' | 'erase here' | 'wait' | 'kill'; nth: number; clock: number };

const steps = fc.array(
  fc.record({
    do: fc.constantFrom(
      ...(['begin conversation', 'begin message', 'begin message', 'pause message', 'finish message'] as const),
      ...(['finish message', 'rate', 'withdraw', 'rename', 'hide', 'delete', 'restore', 'edit chunk'] as const),
      ...(['delete chunk', 'restore chunk', 'delete segment', 'restore segment', 'open transaction'] as const),
      ...(['commit', 'erase here', 'wait', 'wait', 'kill', 'kill'] as const),
    ),
    nth: fc.nat(1_000),
    clock: fc.constantFrom(0, 0, 0, -2, -3_600, 300),
  }),
  { minLength: 15, maxLength: 40 },
);

/** Calls of the store after which an import is killed. */
const callsMax = 60;

/** A store whose calls fail from one of them on, as those of a process that was killed. */
function killable(store: Store): { store: Store; killIn: (calls: number) => void } {
  let left = Number.POSITIVE_INFINITY;
  const wrap = <T extends object>(object: T): T =>
    new Proxy(object, {
      get: (target, name) => {
        const value = target[name as keyof T] as unknown;
        if (typeof value === 'object' && value !== null) return wrap(value);
        if (typeof value !== 'function') return value;
        return (...parameters: unknown[]) => {
          left -= 1;
          // What a process that ends gives back: the lock of a write, and its lease.
          const isEnd = name === 'discard' || parameters[0] === 'takeLease';
          if (left < 0 && !isEnd) throw new Error('killed');
          const result = value.apply(target, parameters);
          // An import that is being written.
          return name === 'openImport' ? result.then(wrap) : result;
        };
      },
    });
  return { store: wrap(store), killIn: (calls) => void (left = calls) };
}

/** An import that follows the source, and is started again after each kill. */
function follow(url: string, store: Store, clock: () => number) {
  const state = { polls: 0, isEnding: false };
  let kill: (calls: number) => void = () => undefined;
  const run = async () => {
    while (!state.isEnding) {
      const process = killable(store);
      kill = process.killIn;
      await runImport(url, process.store, {
        follow: 0.01,
        clock,
        onPoll: (stop) => {
          state.polls += 1;
          if (state.isEnding) stop();
        },
      }).catch((error) => assert.match(`${error.name} ${error.message}`, /^AbortError|killed/));
    }
  };
  const done = run();
  return {
    kill: (calls: number) => kill(calls),
    polls: async (n: number) => {
      const before = state.polls;
      await until(() => state.polls >= before + n);
    },
    end: () => {
      state.isEnding = true;
      return done;
    },
  };
}

/** A Dify installation and a Backscroll that follows it. */
class Model {
  readonly #dify: DifyDatabase;
  readonly #store: Store;
  readonly #late: pg.Client;
  #inTransaction = false;
  #rows = 0;
  readonly #conversations: string[] = [];
  readonly #messages: string[] = [];
  readonly erased: string[] = [];

  constructor(dify: DifyDatabase, store: Store, late: pg.Client) {
    this.#dify = dify;
    this.#store = store;
    this.#late = late;
  }

  async do({ do: what, nth, clock }: Step): Promise<void> {
    const now = `now() AT TIME ZONE 'UTC' + interval '1 second' * ${clock}`;
    const conversation = this.#conversations[nth % this.#conversations.length] ?? ids.conversation;
    const message = this.#messages[nth % this.#messages.length] ?? difyId(21);
    const dify = (sql: string) => this.#dify.run(`${sql}; SELECT pg_stat_force_next_flush()`);
    const insert = async (status: string, answer: string) => {
      const id = this.#newId();
      const sql = `INSERT INTO messages (id, app_id, conversation_id, inputs, query, answer, status, created_at, updated_at)
        VALUES ('${id}', '${ids.app}', '${conversation}', '{}', '${id}', '${answer}', '${status}', ${now}, ${now})`;
      // Either this client or one whose transaction may be committed much later.
      if (this.#inTransaction && nth % 2 === 0) await this.#late.query(sql);
      else await dify(sql);
      this.#messages.push(id);
    };
    switch (what) {
      case 'begin conversation': {
        const id = this.#newId();
        await dify(`INSERT INTO conversations (id, app_id, from_end_user_id, created_at, updated_at)
          VALUES ('${id}', '${ids.app}', '${ids.user}', ${now}, ${now})`);
        this.#conversations.push(id);
        return;
      }
      case 'begin message':
        return insert('normal', nth % 3 === 0 ? 'at once' : '');
      case 'pause message':
        return insert('paused', '');
      case 'finish message':
        return dify(`UPDATE messages SET answer = 'answer ${nth}', status = 'normal' WHERE id = '${message}';
          UPDATE conversations SET updated_at = ${now} WHERE id = '${conversation}'`);
      case 'rate':
        return dify(`INSERT INTO message_feedbacks (message_id, rating, from_source, created_at, updated_at)
          VALUES ('${message}', '${nth % 2 === 0 ? 'like' : 'dislike'}', 'user', ${now}, ${now})`);
      case 'withdraw':
        return dify(`DELETE FROM message_feedbacks WHERE message_id = '${message}'`);
      case 'rename':
        return dify(`UPDATE conversations SET name = 'name ${nth}', updated_at = ${now} WHERE id = '${conversation}'`);
      case 'hide':
        return dify(
          `UPDATE conversations SET is_deleted = NOT is_deleted, updated_at = ${now} WHERE id = '${conversation}'`,
        );
      case 'delete':
        return dify(`INSERT INTO gone_conversations SELECT * FROM conversations WHERE id = '${conversation}';
          DELETE FROM conversations WHERE id = '${conversation}'`);
      case 'restore':
        return dify('WITH r AS (DELETE FROM gone_conversations RETURNING *) INSERT INTO conversations SELECT * FROM r');
      case 'edit chunk':
        return dify(`UPDATE child_chunks SET content = 'content ${nth}', updated_at = ${now}`);
      case 'delete chunk':
        return dify('WITH r AS (DELETE FROM child_chunks RETURNING *) INSERT INTO gone_chunks SELECT * FROM r');
      case 'restore chunk':
        return dify('WITH r AS (DELETE FROM gone_chunks RETURNING *) INSERT INTO child_chunks SELECT * FROM r');
      case 'delete segment':
        return dify('WITH r AS (DELETE FROM document_segments RETURNING *) INSERT INTO gone_segments SELECT * FROM r');
      case 'restore segment':
        return dify('WITH r AS (DELETE FROM gone_segments RETURNING *) INSERT INTO document_segments SELECT * FROM r');
      case 'open transaction':
        if (!this.#inTransaction) await this.#late.query('BEGIN');
        this.#inTransaction = true;
        return;
      case 'commit':
        return this.commit();
      case 'erase here':
        return this.#erase(conversation);
      default:
        return;
    }
  }

  async commit(): Promise<void> {
    if (this.#inTransaction) await this.#late.query('COMMIT');
    this.#inTransaction = false;
  }

  async #erase(conversation_id: string): Promise<void> {
    if (conversation_id === ids.conversation) return;
    const stored = await this.#store.imports.findRecords('conversation', [conversation_id]);
    if (stored.size === 0) return;
    await this.#store.erasure.erase(
      { conversation_id },
      { action: 'purge', key_id: null, now: Math.floor(Date.now() / 1000) },
    );
    this.erased.push(conversation_id);
  }

  #newId(): string {
    this.#rows += 1;
    return difyId(0x1000 + this.#rows);
  }
}

/** What readers see, compared without the code of the import. Messages of a conversation that is gone are kept. */
async function differencesOf(dify: pg.Client, store: Store): Promise<unknown[]> {
  const rowsOf = async (sql: string) => new Map((await dify.query(sql)).rows.map((row) => [row.id, row]));
  const conversations = await rowsOf('SELECT id, name, is_deleted AS deleted FROM conversations');
  const messages = await rowsOf(`
    SELECT m.id, m.answer, (SELECT f.rating FROM message_feedbacks f WHERE f.message_id = m.id AND f.from_source = 'user'
      ORDER BY f.created_at DESC, f.id DESC LIMIT 1) AS rating
    FROM messages m JOIN conversations c ON c.id = m.conversation_id`);
  const segments = await rowsOf('SELECT id FROM document_segments');
  const chunks = await rowsOf(`
    SELECT h.id, h.content FROM child_chunks h JOIN document_segments g ON g.id = h.segment_id`);
  const differs = (record: Record<string, unknown>): boolean => {
    const id = record.id as string;
    const [conversation, message, chunk] = [conversations.get(id), messages.get(id), chunks.get(id)];
    if (record.record === 'conversation')
      return conversation === undefined
        ? record.deleted !== true
        : record.deleted !== conversation.deleted || record.name !== conversation.name;
    if (record.record === 'message' && message !== undefined) {
      const { rating = null } = (record.feedback ?? {}) as { rating?: string };
      return record.answer !== message.answer || rating !== message.rating;
    }
    if (record.record === 'segment') return record.enabled !== segments.has(id);
    if (record.record === 'child_chunk' && segments.size > 0)
      return chunk === undefined
        ? record.deleted !== true
        : record.deleted === true || record.content !== chunk.content;
    return false;
  };
  return (await exportOf(store)).filter(differs);
}

onEveryEngine('whatever Dify does, and whenever an import is killed', (engine) => {
  const check = async (taken: readonly Step[]) => {
    const dify = await createDify();
    const service = await startService(engine);
    const late = new pg.Client(dify.url);
    await late.connect();
    await dify.run(`${difyRows};
      CREATE TABLE gone_conversations (LIKE conversations); CREATE TABLE gone_segments (LIKE document_segments);
      CREATE TABLE gone_chunks (LIKE child_chunks)`);
    let laterMillis = 0;
    const following = follow(dify.url, service.store, () => Date.now() + laterMillis);
    try {
      const model = new Model(dify, service.store, late);
      for (const step of taken) {
        if (step.do === 'kill') following.kill(step.nth % callsMax);
        else if (step.do === 'wait') await following.polls((step.nth % 3) + 1);
        else await model.do(step);
      }
      await model.commit();
      await dify.run('SELECT pg_stat_force_next_flush()');
      await dify.settle();
      // The next complete sync, and then everything that waits for its time.
      laterMillis = 3_700_000;
      following.kill(Number.POSITIVE_INFINITY);
      await untilEqual(() => verify(dify.url, service.store), {});
      assert.deepEqual(await differencesOf(late, service.store), []);
      const stored = new Set((await exportOf(service.store)).map(({ id, conversation_id }) => conversation_id ?? id));
      for (const id of model.erased) assert.ok(!stored.has(id), 'what was erased here does not come back');
    } finally {
      await following.end();
      await late.end();
      await service.close();
      await dify.close();
    }
  };

  it('both sides are equal after quiet, and what was erased here does not come back', async () => {
    const numRuns = shortOrLong(2, 40);
    await fc.assert(
      fc.asyncProperty(steps, (taken) => check(taken)),
      { numRuns, endOnFailure: true },
    );
  });
});
