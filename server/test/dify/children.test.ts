import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { limits } from '../../src/contract/limits.ts';
import type { Store } from '../../src/domain/store/store.ts';
import { at, type DifyDatabase, difyId, ids, tokens } from '../support/dify-database.ts';
import { onOneEngine } from '../support/harness.ts';
import { itLong } from '../support/long.ts';
import { exportOf, runImport, startDify } from './runs.ts';

onOneEngine('a record that is selected later', (engine) => {
  const start = (t: TestContext) => startDify(t, engine);
  const idsOf = async (store: Store, kind: string) =>
    (await exportOf(store)).filter(({ record }) => record === kind).map(({ id }) => id as string);
  const has = async (store: Store, kind: string, id: string) => (await idsOf(store, kind)).includes(id);
  const [document, segment, chunk] = [difyId(70), difyId(71), difyId(72)];
  const [tenant, app, dataset] = [difyId(80), difyId(81), difyId(82)];
  const [conversation, message] = [difyId(83), difyId(84)];
  const insertDocument = async (dify: DifyDatabase, dataset_id: string = ids.dataset) => {
    const created_at = at(1793600000);
    await dify.insert('documents', { id: document, dataset_id, name: 'later.md', created_at });
    await dify.insert('document_segments', {
      id: segment,
      document_id: document,
      position: 1,
      content: 'x',
      created_at,
    });
    await dify.insert('child_chunks', { id: chunk, segment_id: segment, position: 1, content: 'x', created_at });
  };
  /** They are not selected until they belong to the workspace. */
  const insertOthers = async (dify: DifyDatabase) => {
    await dify.insert('tenants', { id: tenant, name: 'Later' });
    await dify.insert('apps', { id: app, tenant_id: tenant, name: 'Later', mode: 'chat' });
    await dify.insert('datasets', { id: dataset, tenant_id: tenant, name: 'Later' });
    await dify.insert('conversations', { id: conversation, app_id: app });
    await dify.insert('messages', { id: message, conversation_id: conversation, app_id: app, inputs: {}, answer: 'a' });
    await insertDocument(dify, dataset);
  };
  const selection = { workspaceIds: [ids.workspace] };
  const move = (workspace: string) =>
    `UPDATE apps SET tenant_id = '${workspace}' WHERE id = '${app}';
     UPDATE datasets SET tenant_id = '${workspace}' WHERE id = '${dataset}'`;
  const knowledge = [
    ['document', document],
    ['segment', segment],
    ['child_chunk', chunk],
  ] as const;

  it('brings its children', async (t) => {
    const { dify, store } = await start(t);
    await insertOthers(dify);
    await runImport(dify.url, store, selection);
    assert.ok(!(await has(store, 'app', app)));
    await dify.run(move(ids.workspace));
    const result = await runImport(dify.url, store, selection);
    assert.equal(result.kind, 'changes');
    assert.equal(result.written, 7);
    assert.deepEqual(result.differing, []);
    for (const [kind, id] of [['conversation', conversation], ['message', message], ...knowledge] as const)
      assert.ok(await has(store, kind, id), kind);
  });

  it('brings its children while the source is followed', async (t) => {
    const { dify, store } = await start(t);
    await insertOthers(dify);
    let polls = 0;
    const following = runImport(dify.url, store, {
      ...selection,
      follow: 0.01,
      onPoll: async (stop) => {
        polls += 1;
        if (polls === 1) await dify.run(move(ids.workspace));
        else if (await has(store, 'child_chunk', chunk)) stop();
      },
    });
    await following.catch((error) => assert.equal(error.name, 'AbortError'));
    for (const [kind, id] of [['conversation', conversation], ['message', message], ...knowledge] as const)
      assert.ok(await has(store, kind, id), kind);
  });

  itLong('brings its children, also if a run ends before they are read', async (t) => {
    const { dify, store } = await start(t);
    await insertOthers(dify);
    await runImport(dify.url, store, selection);
    await dify.run(`${move(ids.workspace)}; ALTER TABLE child_chunks RENAME COLUMN content TO other`);
    await assert.rejects(runImport(dify.url, store, selection));
    assert.ok(await has(store, 'segment', segment));
    await dify.run('ALTER TABLE child_chunks RENAME COLUMN other TO content');
    await runImport(dify.url, store, selection);
    assert.ok(await has(store, 'child_chunk', chunk));
  });

  it('is found by the comparison, if its rows have not changed', async (t) => {
    const { dify, store } = await start(t);
    await runImport(dify.url, store);
    await dify.insert('conversations', { id: conversation, app_id: ids.app });
    await dify.insert('messages', { id: message, conversation_id: conversation, app_id: ids.app, inputs: {} });
    await insertDocument(dify);
    // A run of another version, that has read all of it and has stored nothing.
    const source = `dify ${ids.workspace}`;
    const [name, value] = [...(await store.imports.read(source))].find(([key]) => key.endsWith(' complete')) ?? [
      '',
      '',
    ];
    const xid = `${BigInt(JSON.parse(value).xid) + 1000n}`;
    await dify.run(`DO $$ BEGIN FOR n IN 1..1001 LOOP PERFORM txid_current(); COMMIT; END LOOP; END $$`);
    await dify.settle();
    await store.imports.write(source, { [name]: JSON.stringify({ ...JSON.parse(value), xid }) });
    const result = await runImport(dify.url, store);
    assert.deepEqual([result.kind, result.differing, result.written], ['changes', [], 5]);
    for (const [kind, id] of [['conversation', conversation], ['message', message], ...knowledge] as const)
      assert.ok(await has(store, kind, id), kind);
  });

  itLong('is not read again by each comparison, if it cannot be imported', async (t) => {
    const { dify, store } = await start(t);
    await insertDocument(dify);
    const content = `repeat('x', ${limits.recordBytesMax + 1})`;
    await dify.run(`UPDATE document_segments SET content = ${content} WHERE id = '${segment}'`);
    await dify.settle();
    const readCounts = [];
    for (let run = 0; run < 3; run += 1) {
      const { differing, counts, skips } = await runImport(dify.url, store);
      assert.deepEqual(differing, [ids.dataset]);
      const listed = skips.filter(({ id }) => id === segment);
      assert.equal(listed.length, run === 0 ? 1 : 0);
      readCounts.push(counts.get('document')?.read ?? 0);
    }
    assert.deepEqual(readCounts.slice(1), [0, 0]);
  });

  it('has no rating that was withdrawn there', async (t) => {
    const { dify, service, store } = await start(t);
    const [there, here] = [difyId(22), difyId(21)];
    await dify.insert('message_feedbacks', { message_id: here, rating: 'like', from_source: 'user' });
    await runImport(dify.url, store);
    const feedbackOf = async (id: string) => (await exportOf(store)).find((record) => record.id === id)?.feedback;
    assert.deepEqual([await feedbackOf(there), await feedbackOf(here)], [{ rating: 'dislike' }, { rating: 'like' }]);
    const body = { rating: 'dislike', user: 'visitor-1' };
    const rated = await service.as(tokens.app).post(`/v1/messages/${here}/feedbacks`, body);
    assert.equal(rated.status, 200);
    await dify.run(`DELETE FROM message_feedbacks WHERE from_source = 'user'`);
    const result = await runImport(dify.url, store);
    assert.equal(result.written, 1);
    assert.deepEqual([await feedbackOf(there), await feedbackOf(here)], [null, { rating: 'dislike' }]);
    assert.equal((await runImport(dify.url, store)).written, 0);
    await runImport(dify.url, store, { isForced: true });
    assert.equal(await feedbackOf(here), null);
  });
});
