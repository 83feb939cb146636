import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { makeTwoTenants, message, newMigratedUrl, pluck, type Service, startService } from '../support/harness.ts';
import { itLong, shortOrLong } from '../support/long.ts';

/** On PostgreSQL appends lock their conversations in id order, so that two appends never wait for each other. */

const conversationCount = 5;
const appendCount = shortOrLong(20, 40);

describe('appends that touch several conversations', { concurrency: 1 }, () => {
  const { one, records } = makeTwoTenants();
  /** Reads the statistics of the server. */
  let client: pg.Client;
  /** Another program that locks conversations. */
  let rival: pg.Client;
  let service: Service;
  let remove: () => Promise<void>;

  before(async () => {
    const database = await newMigratedUrl('postgres');
    remove = database.remove;
    client = new pg.Client(database.url);
    await client.connect();
    rival = new pg.Client(database.url);
    await client.query(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET deadlock_timeout = '100ms'`);
    service = await startService('postgres', { DATABASE_POOL: '16' }, database.url);
    await service.load(records);
  });
  after(async () => {
    await client?.end();
    await service?.close();
    await remove?.();
  });

  const conversation = (id: string) => ({ record: 'conversation', id, app_id: one.ids.app, created_at: 1 });

  const newIds = () => Array.from({ length: conversationCount }, (): string => randomUUID());

  async function existing(): Promise<string[]> {
    const ids = newIds();
    await service.load(ids.map(conversation));
    return ids;
  }

  /** The ids, starting with a different one in each append, every second time in reverse. */
  function inOtherOrder(ids: readonly string[], n: number): string[] {
    const at = n % ids.length;
    const rotated = [...ids.slice(at), ...ids.slice(0, at)];
    return n % 2 === 0 ? rotated : rotated.reverse();
  }

  function append(lines: readonly object[]) {
    return service.as(one.keys.writer).append(...lines);
  }

  /** Backends report their counts at the latest when they end. */
  async function deadlocks(): Promise<number> {
    await client.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    for (;;) {
      const { rows } = await client.query(
        `SELECT COUNT(*) AS n FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
      );
      if (Number(rows[0].n) === 0) break;
      await sleep(10);
    }
    const { rows } = await client.query('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()');
    return Number(rows[0].deadlocks);
  }

  async function messagesOf(conversation_id: string): Promise<string[]> {
    const { rows } = await client.query(
      'SELECT id FROM messages WHERE conversation_id = $1 ORDER BY created_at, sequence',
      [conversation_id],
    );
    return rows.map(({ id }) => id);
  }

  /** Sends appends at the same time; all must be accepted, without a deadlock, and leave their messages in order. */
  async function appendAtOnce(ids: readonly string[], linesOf: (id: string, n: number) => Line[]): Promise<void> {
    const deadlocksBefore = await deadlocks();
    const bodies = Array.from({ length: appendCount }, (_, n) => inOtherOrder(ids, n).flatMap((id) => linesOf(id, n)));
    const responses = await Promise.all(bodies.map(append));
    assert.deepEqual(
      pluck(
        responses.filter(({ status }) => status !== 200),
        'text',
      ),
      [],
    );
    assert.equal(await deadlocks(), deadlocksBefore);
    for (const id of ids) {
      const stored = await messagesOf(id);
      // A message keeps its first sequence.
      const sent = bodies.map((lines) => [
        ...new Set(lines.filter((line) => line.conversation_id === id).map((line) => line.id)),
      ]);
      assert.deepEqual(stored.toSorted(), sent.flat().sort());
      for (const one of sent) {
        assert.deepEqual(
          stored.filter((stored) => one.includes(stored)),
          one,
        );
      }
    }
  }

  type Line = { record: string; id: string; conversation_id?: string };

  it('do not deadlock with messages only', async () => {
    await appendAtOnce(await existing(), (id) => [message(id, 5), message(id, 5)]);
  });

  itLong('do not deadlock with repeated messages, each in its own batch', async () => {
    await appendAtOnce(await existing(), (id) => {
      const line = message(id, 6);
      return [line, line, message(id, 6)];
    });
  });

  itLong('do not deadlock with each message after its conversation, as chat back ends send them', async () => {
    await appendAtOnce(await existing(), (id) => [conversation(id), message(id, 7), conversation(id), message(id, 7)]);
  });

  it('do not deadlock with new and existing conversations', async () => {
    await appendAtOnce([...(await existing()), ...newIds()], (id) => [
      conversation(id),
      message(id, 8),
      message(id, 8),
    ]);
  });

  it('are retried when another program causes a deadlock', async () => {
    const [low = '', high = ''] = (await existing()).sort();
    const lock = (id: string) =>
      rival.query('UPDATE conversations SET version = version WHERE conversation_id = $1', [id]);
    const deadlocksBefore = await deadlocks();
    await rival.connect();
    // The server cancels one of the two transactions. Repeated until that is the append.
    for (let isAppend = false; !isAppend; ) {
      await rival.query('BEGIN');
      await lock(high);
      const response = append([message(high, 9), message(low, 9)]);
      await untilLocked();
      isAppend = await lock(low).then(
        () => true,
        () => false,
      );
      await rival.query(isAppend ? 'COMMIT' : 'ROLLBACK');
      assert.equal((await response).status, 200);
    }
    await rival.end();
    assert.ok((await deadlocks()) > deadlocksBefore);
  });

  async function untilLocked(): Promise<void> {
    for (;;) {
      const { rows } = await client.query(
        `SELECT COUNT(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      if (Number(rows[0].n) > 0) return;
      await sleep(5);
    }
  }
});
