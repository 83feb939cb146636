import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { Store } from '../../src/domain/store/store.ts';
import { at, difyId, ids, minutesAgo, tokens } from '../support/dify-database.ts';
import { itOnOneEngine, onEveryEngine } from '../support/harness.ts';
import { exportOf, runImport, startDify } from './runs.ts';

onEveryEngine('an import from Dify', (engine) => {
  const start = (t: TestContext) => startDify(t, engine);
  const recordOf = async (store: Store, kind: string, id: string) =>
    (await exportOf(store)).find((line) => line.record === kind && line.id === id);
  const path = `/v1/messages?conversation_id=${ids.conversation}`;
  const oneMessage = (nth: number, fields: object = {}) => ({
    id: difyId(nth),
    conversation_id: ids.conversation,
    app_id: ids.app,
    inputs: {},
    query: `message ${nth}`,
    created_at: at(1793600000 + nth),
    ...fields,
  });

  it('imports everything; the keys of Dify work, and deleted conversations do not exist', async (t) => {
    const { dify, service, store } = await start(t);
    const result = await runImport(dify.url, store);
    assert.equal(result.kind, 'full');
    assert.deepEqual([result.compared, result.differing], [2, []]);
    assert.deepEqual(result.skips, [{ kind: 'api_key', id: difyId(33), reason: 'app missing' }]);
    const { status, body } = await service.as(tokens.app).get(`${path}&user=visitor-1`);
    assert.equal(status, 200);
    const queries = body.data.map(({ query }: { query: string }) => query);
    assert.deepEqual(queries, ['third', 'second', 'first']);
    for (const gone of [`/v1/messages?conversation_id=${ids.deleted}`, `${path}&user=visitor-2`])
      assert.equal((await service.as(tokens.app).get(gone)).status, 404);
    const segments = `/v1/datasets/${ids.dataset}/documents/${ids.document}/segments`;
    const chunk = `${segments}/${ids.segment}/child_chunks/${ids.chunk}`;
    assert.equal((await service.as(tokens.dataset).get(chunk)).body.data.content, 'Unplug it first.');
    const text = JSON.stringify(await exportOf(store));
    for (const token of Object.values(tokens)) assert.ok(!text.includes(token));
  });

  itOnOneEngine(engine, 'writes nothing in a second run without changes', async (t) => {
    const { dify, service, store } = await start(t);
    await runImport(dify.url, store);
    const query = { before: undefined, since: 0, key_id: undefined, record_id: undefined, limit: 1000 };
    const readState = async () => ({
      audit: await store.listAudit(query),
      feed: await store.changes.count(),
      records: await exportOf(store),
      etag: (await service.as(tokens.app).get(path)).headers.etag,
    });
    const state = await readState();
    for (const options of [{}, { isForced: true }, { keys: false }]) {
      const again = await runImport(dify.url, store, options);
      assert.deepEqual([again.kind, again.written], [options.isForced ? 'full' : 'changes', 0]);
    }
    assert.equal((await runImport(dify.url, store, { console: true })).written, 0, 'also if everything is read');
    assert.deepEqual(await readState(), state);
  });

  itOnOneEngine(engine, 'finds changed rows, and changed parts of messages', async (t) => {
    const { dify, store } = await start(t);
    await dify.insert('messages', oneMessage(60), oneMessage(61), oneMessage(62), oneMessage(63));
    await runImport(dify.url, store);
    await dify.run(`UPDATE messages SET answer = 'changed' WHERE id = '${difyId(60)}'`);
    await dify.insert('message_feedbacks', {
      message_id: difyId(61),
      rating: 'like',
      from_source: 'user',
      content: 'Good',
    });
    await dify.insert('message_agent_thoughts', { id: difyId(70), message_id: difyId(62), position: 1, thought: 'Hm' });
    await dify.insert('message_files', {
      id: difyId(71),
      message_id: difyId(63),
      type: 'image',
      transfer_method: 'remote_url',
      url: 'https://pictures.example/dog.png',
      belongs_to: 'user',
    });
    await dify.run(`UPDATE conversations SET name = 'Renamed there' WHERE id = '${ids.conversation}'`);
    await dify.run(`UPDATE document_segments SET content = 'New text.' WHERE id = '${ids.segment}'`);
    await dify.insert('conversations', { id: difyId(64), app_id: ids.app });
    await dify.insert('messages', { ...oneMessage(65), conversation_id: difyId(64) });
    const result = await runImport(dify.url, store);
    assert.equal(result.kind, 'changes');
    assert.deepEqual(Object.fromEntries([...result.counts].map(([kind, { written }]) => [kind, written])), {
      workspace: 0,
      app: 0,
      dataset: 0,
      api_key: 0,
      conversation: 2,
      message: 5,
      segment: 1,
    });
    const message = (nth: number) =>
      recordOf(store, 'message', difyId(nth)) as Promise<Record<string, Record<string, unknown>[]>>;
    assert.equal((await message(60)).answer, 'changed');
    assert.deepEqual((await message(61)).feedback, { rating: 'like' });
    assert.equal((await message(61)).feedback_content, 'Good');
    assert.equal((await message(62)).agent_thoughts?.[0]?.thought, 'Hm');
    assert.equal((await message(63)).message_files?.[0]?.filename, 'dog.png');
    assert.equal((await recordOf(store, 'conversation', ids.conversation))?.name, 'Renamed there');
    assert.equal((await recordOf(store, 'segment', ids.segment))?.content, 'New text.');
    assert.ok(await recordOf(store, 'message', difyId(65)));
  });

  itOnOneEngine(engine, 'stores messages of one second in their order, also if they are many', async (t) => {
    const { dify, store } = await start(t);
    await runImport(dify.url, store);
    const count = 1_500;
    await dify.run(
      `INSERT INTO messages (id, app_id, conversation_id, inputs, query, answer, created_at)
       SELECT gen_random_uuid(), '${ids.app}', '${ids.conversation}', '{}', n::text, 'yes',
         to_timestamp(1793600100) AT TIME ZONE 'UTC' + n * interval '1 microsecond'
       FROM generate_series(1, ${count}) n`,
    );
    assert.equal((await runImport(dify.url, store)).kind, 'changes');
    const queries = (await exportOf(store)).flatMap(({ record, answer, query }) =>
      record === 'message' && answer === 'yes' ? [query] : [],
    );
    assert.deepEqual(
      queries,
      Array.from({ length: count }, (_, index) => `${index + 1}`),
    );
  });

  itOnOneEngine(engine, 'finds forms that were answered', async (t) => {
    const { dify, store } = await start(t);
    const form_id = difyId(81);
    await dify.insert('messages', oneMessage(80));
    await dify.insert('human_input_forms', {
      id: form_id,
      node_id: 'n',
      form_definition: { form_content: 'Name?', inputs: [], user_actions: [], rendered_content: 'Name?' },
      rendered_content: 'Name?',
      expiration_time: at(1900000000),
    });
    await dify.insert('execution_extra_contents', {
      id: difyId(82),
      workflow_run_id: difyId(83),
      message_id: difyId(80),
      form_id,
    });
    await runImport(dify.url, store);
    await dify.run(`UPDATE human_input_forms SET rendered_content = 'Your name?' WHERE id = '${form_id}'`);
    assert.equal((await runImport(dify.url, store)).written, 1);
    const { extra_contents } = (await recordOf(store, 'message', difyId(80))) ?? {};
    assert.match(JSON.stringify(extra_contents), /Your name\?/);
  });

  itOnOneEngine(
    engine,
    'keeps who created knowledge, when it was disabled, and the order of conversations by their last change',
    async (t) => {
      const { dify, service, store } = await start(t);
      const [account, other] = [difyId(88), difyId(50)];
      await dify.run(`
      UPDATE datasets SET created_by = '${account}'; UPDATE documents SET created_by = '${account}';
      UPDATE document_segments SET created_by = '${account}', enabled = false, disabled_at = '2026-11-02T00:00:00'`);
      await dify.insert('conversations', {
        ...{ id: other, app_id: ids.app, from_end_user_id: ids.user, created_at: at(1793600000) },
        updated_at: at(1793600500),
      });
      await runImport(dify.url, store);
      const key = tokens.dataset;
      const datasets = await service.as(key).get('/v1/datasets');
      const documents = await service.as(key).get(`/v1/datasets/${ids.dataset}/documents`);
      const path = `/v1/datasets/${ids.dataset}/documents/${ids.document}`;
      const segments = await service.as(key).get(`${path}/segments`);
      for (const { body } of [datasets, documents, segments]) assert.equal(body.data[0].created_by, account);
      assert.equal((await service.as(key).get(path)).body.created_by, account);
      assert.equal(segments.body.data[0].disabled_at, Date.UTC(2026, 10, 2) / 1000);
      const list = async () => {
        const { body } = await service.as(tokens.app).get('/v1/conversations?user=visitor-1');
        return body.data.map((one: { id: string; updated_at: number }) => [one.id, one.updated_at]);
      };
      const [older, newer] = [
        [ids.conversation, 1793600002],
        [other, 1793600500],
      ];
      assert.deepEqual(await list(), [newer, older]);
      // A rename there changes nothing but the name and this time.
      await dify.run(`UPDATE conversations SET name = 'x', updated_at = to_timestamp(1793600900) AT TIME ZONE 'UTC'
      WHERE id = '${ids.conversation}'`);
      await runImport(dify.url, store);
      assert.deepEqual(await list(), [[ids.conversation, 1793600900], newer]);
      await dify.insert('messages', oneMessage(60, { created_at: at(1793600800) }));
      await runImport(dify.url, store);
      assert.deepEqual(await list(), [[ids.conversation, 1793600900], newer]);
      const exported = await exportOf(store);
      assert.equal(exported.find(({ id }) => id === other)?.updated_at, 1793600500);
    },
  );

  itOnOneEngine(engine, 'waits for messages that Dify has not finished', async (t) => {
    const { dify, store } = await start(t);
    await dify.insert('messages', oneMessage(60, { answer: '', created_at: minutesAgo(1) }));
    await dify.insert('messages', oneMessage(61, { answer: '', created_at: minutesAgo(11) }));
    const finished = [
      { answer: 'A' },
      { message_tokens: 1 },
      { answer_tokens: 1 },
      { status: 'error' },
      { status: 'paused' },
    ];
    const young = { answer: '', created_at: minutesAgo(9) };
    await dify.insert('messages', ...finished.map((fields, index) => oneMessage(70 + index, { ...young, ...fields })));
    const first = await runImport(dify.url, store);
    assert.deepEqual(first.differing, []);
    assert.equal(await recordOf(store, 'message', difyId(60)), undefined);
    for (const nth of [61, 70, 71, 72, 73, 74]) assert.ok(await recordOf(store, 'message', difyId(nth)), `${nth}`);
    await dify.run(`UPDATE messages SET created_at = created_at - interval '10 minutes' WHERE id = '${difyId(60)}'`);
    assert.equal((await runImport(dify.url, store)).written, 1);
    assert.ok(await recordOf(store, 'message', difyId(60)));
    assert.equal((await runImport(dify.url, store)).written, 0);
  });

  it('keeps what was changed in Backscroll, unless it is forced', async (t) => {
    const { dify, service, store } = await start(t);
    const other = difyId(50);
    const [rated, unrated] = [difyId(22), difyId(21)];
    const [edited, deleted] = [ids.chunk, difyId(51)];
    await dify.insert('conversations', { id: other, app_id: ids.app, from_end_user_id: ids.user });
    const chunk = { segment_id: ids.segment, position: 2, content: 'Deleted here.' };
    await dify.insert('child_chunks', { id: deleted, ...chunk });
    await runImport(dify.url, store);
    const chunks = `/v1/datasets/${ids.dataset}/documents/${ids.document}/segments/${ids.segment}/child_chunks`;
    const app = { key: tokens.app };
    const knowledge = { key: tokens.dataset };
    const user = 'visitor-1';
    const responses = [
      await service.request('POST', `/v1/conversations/${ids.conversation}/name`, {
        ...app,
        body: { name: 'Mine', user },
      }),
      await service.request('DELETE', `/v1/conversations/${other}`, { ...app, body: { user } }),
      await service.request('POST', `/v1/messages/${rated}/feedbacks`, { ...app, body: { rating: 'like', user } }),
      await service.request('PATCH', `${chunks}/${edited}`, { ...knowledge, body: { content: 'Edited here.' } }),
      await service.request('DELETE', `${chunks}/${deleted}`, knowledge),
    ];
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 204, 200, 200, 204],
    );
    await dify.run(`
      UPDATE conversations SET name = 'Theirs', introduction = 'Hello' WHERE id = '${ids.conversation}';
      UPDATE conversations SET introduction = 'Hello' WHERE id = '${other}';
      UPDATE messages SET answer = 'new answer';
      UPDATE message_feedbacks SET rating = 'dislike', created_at = now();
      UPDATE child_chunks SET content = content || ' Theirs.'`);
    const fields = async () => ({
      conversation: await recordOf(store, 'conversation', ids.conversation),
      other: await recordOf(store, 'conversation', other),
      rated: await recordOf(store, 'message', rated),
      unrated: await recordOf(store, 'message', unrated),
      edited: await recordOf(store, 'child_chunk', edited),
      deleted: await recordOf(store, 'child_chunk', deleted),
    });
    await runImport(dify.url, store);
    const kept = await fields();
    assert.deepEqual([kept.conversation?.name, kept.conversation?.introduction], ['Mine', 'Hello']);
    assert.deepEqual([kept.other?.deleted, kept.other?.introduction], [true, 'Hello']);
    assert.deepEqual([kept.rated?.answer, kept.rated?.feedback], ['new answer', { rating: 'like' }]);
    assert.equal(kept.unrated?.answer, 'new answer');
    assert.equal(kept.edited?.content, 'Edited here.');
    assert.deepEqual([kept.deleted?.deleted, kept.deleted?.content], [true, 'Deleted here.']);
    assert.equal((await runImport(dify.url, store)).written, 0);

    // Nothing has changed there since the last run.
    assert.equal((await runImport(dify.url, store, { isForced: true })).kind, 'full');
    const forced = await fields();
    assert.deepEqual([forced.conversation?.name, forced.conversation?.renamed_at], ['Theirs', null]);
    assert.equal(forced.other?.deleted, false);
    assert.deepEqual([forced.rated?.feedback, forced.rated?.rated_at], [{ rating: 'dislike' }, null]);
    assert.equal(forced.edited?.content, 'Unplug it first. Theirs.');
    assert.deepEqual([forced.deleted?.deleted, forced.deleted?.content], [false, 'Deleted here. Theirs.']);
  });

  itOnOneEngine(engine, 'marks what is gone from the source, and restores it if it comes back', async (t) => {
    const { dify, service, store } = await start(t);
    await dify.insert('datasets', {
      id: difyId(90),
      tenant_id: ids.workspace,
      name: 'Gone',
      created_at: at(1793600001),
    });
    await dify.run(`UPDATE datasets SET chunk_structure = 'text_model'`);
    await runImport(dify.url, store);
    await dify.run(`
      CREATE TABLE saved AS SELECT * FROM conversations; CREATE TABLE saved_chunks AS SELECT * FROM child_chunks;
      DELETE FROM conversations; DELETE FROM document_segments; DELETE FROM child_chunks; DELETE FROM documents;
      DELETE FROM datasets WHERE id = '${difyId(90)}'`);
    const result = await runImport(dify.url, store);
    assert.equal(result.events.get('conversations gone from the source'), 1, 'the other one was deleted before');
    assert.equal((await recordOf(store, 'conversation', ids.conversation))?.deleted, true);
    assert.equal((await recordOf(store, 'child_chunk', ids.chunk))?.deleted, true);
    assert.equal((await recordOf(store, 'segment', ids.segment))?.enabled, false);
    const document = await recordOf(store, 'document', ids.document);
    assert.deepEqual([document?.enabled, document?.archived], [false, true]);
    assert.equal((await exportOf(store)).filter(({ record }) => record === 'message').length, 3, 'nothing is purged');
    const list = await service.as(tokens.dataset).get('/v1/datasets');
    assert.deepEqual(
      list.body.data.map(({ id }: { id: string }) => id),
      [ids.dataset],
    );
    assert.equal((await runImport(dify.url, store)).written, 0);
    await dify.run('INSERT INTO conversations SELECT * FROM saved');
    await runImport(dify.url, store);
    assert.equal((await recordOf(store, 'conversation', ids.conversation))?.deleted, false);
    assert.equal((await recordOf(store, 'conversation', ids.deleted))?.deleted, true);
  });

  itOnOneEngine(engine, 'compares times, with an overlap, if the server of the source is another one', async (t) => {
    const { dify, store } = await start(t);
    await runImport(dify.url, store);
    const source = `dify ${ids.workspace}`;
    const values = await store.imports.read(source);
    const moved = [...values].map(([name, value]) => [name, value.replace(/"server":"[^"]*"/, '"server":"other"')]);
    await store.imports.write(source, Object.fromEntries(moved));
    await dify.insert('messages', oneMessage(60, { created_at: minutesAgo(5), updated_at: minutesAgo(5) }));
    await dify.insert('messages', oneMessage(61, { created_at: minutesAgo(30), updated_at: minutesAgo(30) }));
    const result = await runImport(dify.url, store);
    assert.deepEqual([result.kind, result.written], ['changes', 2], 'the comparison finds the other one');
    assert.deepEqual(result.differing, []);
  });

  itOnOneEngine(engine, 'skips a record whose parent is skipped, and counts orphans', async (t) => {
    const { dify, store } = await start(t);
    await dify.insert('messages', oneMessage(60, { conversation_id: difyId(999) }));
    await dify.insert('document_segments', { id: difyId(61), document_id: difyId(999), position: 1, content: 'x' });
    // The app of this conversation belongs to another workspace here.
    const app = difyId(95);
    await dify.insert('apps', { id: app, tenant_id: ids.workspace, name: 'Moved', mode: 'chat' });
    await dify.insert('conversations', { id: difyId(62), app_id: app });
    await dify.insert('messages', oneMessage(63, { conversation_id: difyId(62) }));
    await runImport(dify.url, store, { appIds: [ids.app] });
    const result = await runImport(dify.url, store);
    assert.equal(result.events.get('orphans in messages'), 1);
    assert.equal(result.events.get('orphans in document_segments'), 1);
    assert.ok(await recordOf(store, 'message', difyId(63)));
  });
});
