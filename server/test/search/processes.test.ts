import assert from 'node:assert/strict';
import { it } from 'node:test';
import { newFolder, run, runMany, type Scope, sendRequest, serve } from '../support/cli-helpers.ts';
import { type Engine, makeTwoTenants, message, ndjson, newDatabaseWith, onEveryEngine } from '../support/harness.ts';
import { itLong } from '../support/long.ts';
import { until } from '../support/until.ts';
import { indexDifferences } from './index-differences.ts';

async function newDatabase(t: Scope, engine: Engine, records: readonly object[]) {
  const cwd = await newFolder(t);
  const { url, remove } = await newDatabaseWith(engine, records);
  t.after(remove);
  return { cwd, env: { DATABASE_URL: url } };
}

const texts = (count: number, conversation_id: string) =>
  Array.from({ length: count }, (_, at) =>
    message(conversation_id, at, { query: `osprey w${at % 7} x${at % 11}`, answer: `número ${at}` }),
  );

type Base = { base: string };
const countOf = async ({ base }: Base, admin: string, q: string): Promise<number> => {
  const { body } = await sendRequest(base, `/admin/search/counts?q=${encodeURIComponent(q)}`, admin);
  return body.all;
};
const metric = async ({ base }: Base, admin: string, name: string): Promise<number> => {
  const { text } = await sendRequest(base, '/metrics', admin);
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
};
const isUpToDate = async (service: Base, admin: string): Promise<boolean> =>
  (await metric(service, admin, 'backscroll_search_building')) === 0 &&
  (await metric(service, admin, 'backscroll_search_lag_changes')) === 0;

onEveryEngine('processes that index', (engine) => {
  itLong('kill -9 while it indexes, then a start: the index is that of a new one', async (t) => {
    const { one, admin, records } = makeTwoTenants();
    const sent = texts(600, one.ids.conversation);
    const { cwd, env } = await newDatabase(t, engine, [...records, ...sent]);
    for (let kill = 0; kill < 10; kill += 1) {
      const service = await serve(t, { cwd, env });
      const before = await countOf(service, admin, 'osprey');
      await until(
        async () => (await countOf(service, admin, 'osprey')) > Math.min(before, 599),
        () => 'it indexes',
      );
      // Messages that are indexed again share their words with those that are not indexed yet.
      for (const { id } of sent.slice(kill * 20, kill * 20 + 20)) {
        const json = { rating: kill === 0 ? 'like' : 'dislike', user: 'ann' };
        await sendRequest(service.base, `/v1/messages/${id}/feedbacks`, one.keys.app, { method: 'POST', json });
      }
      await service.end('SIGKILL');
    }
    const service = await serve(t, { cwd, env });
    const added = texts(20, one.ids.conversation);
    const lines = ndjson(added);
    assert.equal((await sendRequest(service.base, '/admin/records', admin, { method: 'POST', lines })).status, 200);
    await until(
      () => isUpToDate(service, admin),
      () => 'the index is up to date',
    );
    const queries = ['osprey', 'w3', 'w3 x5', '"w3 x5"', 'numero', 'osp', '599', 'x10 x1'];
    const counts = () => Promise.all(queries.map((q) => countOf(service, admin, q)));
    const kept = await counts();
    assert.deepEqual(kept.slice(0, 1), [620]);
    const reindex = async () => {
      const { code, stdout, stderr } = await run(['reindex'], { cwd, env });
      assert.deepEqual([code, stderr], [0, '']);
      assert.match(stdout, /^indexed \d+ records in [\d.]+ s\n$/);
      await until(
        () => isUpToDate(service, admin),
        () => 'the index is built again',
      );
    };
    assert.deepEqual(await indexDifferences(engine, env.DATABASE_URL, reindex), []);
    assert.deepEqual(await counts(), kept);
    await service.end('SIGTERM');
  });

  itLong('two services share the work: each change is found through both', async (t) => {
    const { one, admin, records } = makeTwoTenants();
    const { cwd, env } = await newDatabase(t, engine, records);
    const services = [await serve(t, { cwd, env }), await serve(t, { cwd, env })] as const;
    const append = async ({ base }: Base, query: string) => {
      const lines = ndjson([message(one.ids.conversation, 5, { query })]);
      assert.equal((await sendRequest(base, '/admin/records', admin, { method: 'POST', lines })).status, 200);
    };
    const isFound = (query: string) => async () =>
      (await countOf(services[0], admin, query)) === 1 && (await countOf(services[1], admin, query)) === 1;
    for (let round = 0; round < 6; round += 1) {
      await append(services[round % 2 === 0 ? 0 : 1], `grebe${round}`);
      await until(isFound(`grebe${round}`), () => `change ${round} is found`);
    }
    // The one that has the lease ends: the other continues.
    await services[0].end('SIGTERM');
    await append(services[1], 'grebe after');
    await until(
      async () => (await countOf(services[1], admin, '"grebe after"')) === 1,
      () => 'the change is found',
    );
    await services[1].end('SIGTERM');
  });

  it('reindex: an error if the search is off', async (t) => {
    const options = await newDatabase(t, engine, []);
    const calls = ['SEARCH', 'CHANGES'].map((name) => ({ args: ['reindex'], env: { [name]: 'off' } }));
    for (const { code, stderr } of await runMany(calls, options)) {
      assert.equal(code, 1);
      assert.match(stderr, /^the search is off.*\n$/);
    }
  });
});
