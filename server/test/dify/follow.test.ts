import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { at, type DifyDatabase, difyId, ids, minutesAgo, tokens } from '../support/dify-database.ts';
import { type Engine, onOneEngine, type Service } from '../support/harness.ts';
import { itLong } from '../support/long.ts';
import { until } from '../support/until.ts';
import { exportOf, type Outcome, runImport, startDify } from './runs.ts';

/** `ends` run at the end of the test, before the source and the service are closed. */
type Setup = { dify: DifyDatabase; service: Service; ends: (() => unknown)[] };

async function start(t: TestContext, engine: Engine): Promise<Setup> {
  const ends: Setup['ends'] = [];
  // Before the service and the source end.
  t.after(() => Promise.all(ends.map((end) => end())).then(() => undefined));
  return { ...(await startDify(t, engine)), ends };
}

/** Follows a source until the test stops it. `polls` counts. */
function follow({ service, ends }: Setup, url: string) {
  let stop: (() => void) | undefined;
  let isStopped = false;
  const following = {
    polls: 0,
    nextPolls: async (n: number) => {
      const before = following.polls;
      await until(() => following.polls >= before + n);
    },
    stop: async (): Promise<Outcome | undefined> => {
      isStopped = true;
      stop?.();
      return done;
    },
  };
  const done = runImport(url, service.store, {
    follow: 0.05,
    onPoll: (stopRun) => {
      following.polls += 1;
      stop = stopRun;
      if (isStopped) stopRun();
    },
  }).catch((error) => {
    assert.equal(error.name, 'AbortError');
    return undefined;
  });
  ends.push(following.stop);
  return following;
}

const recordOf = async ({ service }: Setup, kind: string, id: string) =>
  (await exportOf(service.store)).find((line) => line.record === kind && line.id === id);
/** PostgreSQL counts what a session has done some seconds later, unless it is told to do it now. */
const countNow = 'SELECT pg_stat_force_next_flush()';
const insertMessage = (dify: DifyDatabase, nth: number) =>
  dify.run(`INSERT INTO messages (id, conversation_id, inputs, query, created_at)
    VALUES ('${difyId(nth)}', '${ids.conversation}', '{}', 'q', now() AT TIME ZONE 'UTC')`);
const chunks = `/v1/datasets/${ids.dataset}/documents/${ids.document}/segments/${ids.segment}/child_chunks`;

onOneEngine('a source that is followed', (engine) => {
  it('loses what users delete there: conversations, feedback, segments and child chunks', async (t) => {
    const setup = await start(t, engine);
    const { dify, service } = setup;
    const [kept, rated, chunk] = [difyId(50), difyId(22), difyId(51)];
    await dify.insert('conversations', { id: kept, app_id: ids.app, from_end_user_id: ids.user });
    await dify.insert('messages', { id: difyId(52), conversation_id: kept, app_id: ids.app, inputs: {}, query: 'old' });
    await dify.insert('child_chunks', { id: chunk, segment_id: ids.segment, position: 2, content: 'Stays.' });
    const following = follow(setup, dify.url);
    await until(() => following.polls > 3);
    const read = (id: string) => service.as(tokens.app).get(`/v1/messages?conversation_id=${id}`);
    assert.equal((await read(ids.conversation)).status, 200);

    await dify.run(`DELETE FROM message_feedbacks WHERE from_source = 'user'; ${countNow}`);
    await until(async () => (await recordOf(setup, 'message', rated))?.feedback === null);
    await dify.run(`DELETE FROM child_chunks WHERE id = '${ids.chunk}'; ${countNow}`);
    await until(async () => (await recordOf(setup, 'child_chunk', ids.chunk))?.deleted === true);
    assert.equal((await service.as(tokens.dataset).get(`${chunks}/${ids.chunk}`)).status, 404);
    await dify.run(`DELETE FROM document_segments WHERE id = '${ids.segment}'; ${countNow}`);
    await until(async () => (await recordOf(setup, 'segment', ids.segment))?.enabled === false);
    await dify.run(`
      DELETE FROM messages WHERE conversation_id IN ('${ids.conversation}', '${kept}');
      DELETE FROM conversations WHERE id = '${ids.conversation}'; ${countNow}`);
    await until(async () => (await read(ids.conversation)).status === 404);
    // The clean-up of Dify removes messages of conversations that remain: they are kept.
    assert.deepEqual((await read(kept)).body.data.length, 1);
    assert.equal((await recordOf(setup, 'child_chunk', chunk))?.deleted, false);
  });
});

describe('a source that is followed', () => {
  it('has its child chunks and segments edited alone', async (t) => {
    const setup = await start(t, 'sqlite');
    const { dify } = setup;
    const following = follow(setup, dify.url);
    await until(() => following.polls > 3);
    // Dify changes the row of the chunk, and neither its segment nor its document.
    await dify.run(`UPDATE child_chunks SET content = 'Edited.' WHERE id = '${ids.chunk}'; ${countNow}`);
    await until(async () => (await recordOf(setup, 'child_chunk', ids.chunk))?.content === 'Edited.');
    await dify.run(`UPDATE document_segments SET content = 'Edited too.' WHERE id = '${ids.segment}'; ${countNow}`);
    await until(async () => (await recordOf(setup, 'segment', ids.segment))?.content === 'Edited too.');
    await dify.insert('child_chunks', { id: difyId(60), segment_id: ids.segment, position: 2, content: 'Added.' });
    await dify.run(countNow);
    await until(() => recordOf(setup, 'child_chunk', difyId(60)));
  });

  it('has answers that are written long after their messages began', async (t) => {
    const setup = await start(t, 'sqlite');
    const { dify } = setup;
    const row = { conversation_id: ids.conversation, app_id: ids.app, inputs: {} };
    const [paused, slow, gone] = [difyId(60), difyId(61), difyId(62)];
    await dify.run(`UPDATE messages SET status = 'normal'`);
    await dify.insert('messages', { ...row, id: paused, status: 'paused', created_at: minutesAgo(3_000) });
    await dify.insert('messages', { ...row, id: slow, answer: '', created_at: minutesAgo(60) });
    await dify.insert('messages', { ...row, id: gone, status: 'paused', created_at: minutesAgo(60) });
    const following = follow(setup, dify.url);
    await until(() => following.polls > 2);
    await dify.run(`DELETE FROM messages WHERE id = '${gone}'`);
    await dify.run(`UPDATE messages SET answer = 'At last.', status = 'normal' WHERE id IN ('${paused}', '${slow}')`);
    for (const id of [paused, slow])
      await until(async () => (await recordOf(setup, 'message', id))?.answer === 'At last.');
    await following.stop();
    await runImport(dify.url, setup.service.store);
    const source = `dify ${ids.workspace}`;
    assert.deepEqual(await setup.service.store.imports.listIds(source, 'pending message', '', 10), []);
  });

  itLong('is not read as a whole by every poll after an outage', async (t) => {
    const setup = await start(t, 'sqlite');
    const { dify } = setup;
    const proxy = await startProxy(setup, dify.url);
    const following = follow(setup, proxy.url);
    await until(() => following.polls > 2);
    for (const nth of [61, 62]) {
      proxy.isOpen = false;
      await sleep(2_200);
      await insertMessage(dify, nth);
      proxy.isOpen = true;
      await until(() => recordOf(setup, 'message', difyId(nth)));
    }
    await following.nextPolls(2);
    const scans = proxy.scans;
    assert.ok(scans > 0, 'the proxy sees scans');
    await following.nextPolls(10);
    assert.equal(proxy.scans, scans);
  });

  it('needs no privilege, but warns', async (t) => {
    const setup = await start(t, 'sqlite');
    const { dify } = setup;
    const role = `plain_${crypto.randomUUID().slice(0, 8)}`;
    await dify.run(`
      REVOKE EXECUTE ON FUNCTION pg_control_system(), pg_control_checkpoint() FROM PUBLIC;
      CREATE ROLE ${role} LOGIN PASSWORD 'p'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`);
    setup.ends.push(() => dify.run(`DROP OWNED BY ${role}; DROP ROLE ${role}`));
    const url = new URL(dify.url);
    Object.assign(url, { username: role, password: 'p' });
    const proxy = await startProxy(setup, url.href);
    const following = follow(setup, proxy.url);
    await until(() => following.polls > 2);
    const scans = proxy.scans;
    await following.nextPolls(5);
    assert.equal(proxy.scans, scans);
    const outcome = await following.stop();
    assert.deepEqual(
      outcome?.warnings.map((text) => /pg_control_system\(\)/.test(text)),
      [true],
    );
    await insertMessage(dify, 60);
    assert.equal((await runImport(url.href, setup.service.store)).written, 1);
  });

  it('gives its new messages first after a restart, and its changes while a pass runs', async (t) => {
    const setup = await start(t, 'sqlite');
    const { dify } = setup;
    const other = difyId(50);
    await dify.insert('conversations', { id: other, app_id: ids.app, created_at: at(1793600000) });
    await runImport(dify.url, setup.service.store);
    await insertMessage(dify, 60);
    const proxy = await startProxy(setup, dify.url);
    // The pass waits before its second scan, and then before its third.
    proxy.scansMax = 1;
    follow(setup, proxy.url);
    await until(() => recordOf(setup, 'message', difyId(60)));
    await until(() => proxy.scans === 1);
    await insertMessage(dify, 61);
    await dify.run(`DELETE FROM conversations WHERE id = '${other}'; SELECT pg_stat_force_next_flush()`);
    // The time between two comparisons.
    await sleep(1_100);
    proxy.scansMax = 2;
    await until(() => recordOf(setup, 'message', difyId(61)));
    assert.ok(proxy.scans <= 2, 'the pass has not ended');
    proxy.scansMax = 3;
    await until(async () => (await recordOf(setup, 'conversation', other))?.deleted === true);
    assert.ok(proxy.scans <= 3, 'the pass has not ended');
    proxy.scansMax = Number.POSITIVE_INFINITY;
  });
});

describe('a source whose tables were replaced', () => {
  const deletedOf = async (setup: Setup) => (await recordOf(setup, 'conversation', ids.conversation))?.deleted;
  const save = 'CREATE TABLE saved AS SELECT * FROM conversations; TRUNCATE conversations';

  it('loses nothing while a table is empty, and then what is missing in a copy that is as new', async (t) => {
    const setup = await start(t, 'sqlite');
    const { dify, service } = setup;
    await runImport(dify.url, service.store);
    await dify.run(save);
    const empty = await runImport(dify.url, service.store);
    assert.match(empty.warnings.join(), /conversations of the source was replaced and is empty/);
    assert.equal(await deletedOf(setup), false);
    await dify.run(`INSERT INTO conversations SELECT * FROM saved WHERE id <> '${ids.conversation}'`);
    await runImport(dify.url, service.store);
    assert.equal(await deletedOf(setup), true);
  });

  it('keeps what is missing in an older copy, and loses what is deleted after that', async (t) => {
    const setup = await start(t, 'sqlite');
    const { dify, service } = setup;
    const other = difyId(50);
    await dify.insert('conversations', { id: other, app_id: ids.app, created_at: at(1793600000) });
    await insertMessage(dify, 60);
    await runImport(dify.url, service.store);
    await dify.run(`${save}; DELETE FROM messages WHERE id = '${difyId(60)}';
      INSERT INTO conversations SELECT * FROM saved WHERE id <> '${ids.conversation}'`);
    const older = await runImport(dify.url, service.store);
    assert.match(older.warnings.join(), /the source is older than what was imported/);
    assert.equal(await deletedOf(setup), false);
    await dify.run(`DELETE FROM conversations WHERE id = '${other}'`);
    await runImport(dify.url, service.store);
    assert.equal(await deletedOf(setup), false);
    assert.equal((await recordOf(setup, 'conversation', other))?.deleted, true);
  });
});

/** Forwards connections to the source, unless it is closed. It counts the statements of passes over all rows. */
async function startProxy({ ends }: Setup, url: string) {
  const target = new URL(url);
  const sockets = new Set<net.Socket>();
  const proxy = {
    url: '',
    scans: 0,
    /** Further scans wait until it is raised. */
    scansMax: Number.POSITIVE_INFINITY,
    get isOpen() {
      return isOpen;
    },
    set isOpen(value: boolean) {
      isOpen = value;
      if (!value) for (const socket of sockets) socket.destroy();
    },
  };
  let isOpen = true;
  const server = net.createServer((client) => {
    if (!isOpen) return client.destroy();
    const source = net.connect(Number(target.port), target.hostname);
    for (const socket of [client, source]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        source.destroy();
      });
    }
    client.on('data', async (data) => {
      if (data.includes('FILTER (WHERE changed) AS targets')) {
        client.pause();
        await until(() => proxy.scans < proxy.scansMax);
        proxy.scans += 1;
        client.resume();
      }
      source.write(data);
    });
    source.on('data', (data) => client.write(data));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(() => {
    proxy.isOpen = false;
    proxy.scansMax = Number.POSITIVE_INFINITY;
    server.close();
  });
  const through = new URL(url);
  through.host = `127.0.0.1:${(server.address() as net.AddressInfo).port}`;
  proxy.url = through.href;
  return proxy;
}
