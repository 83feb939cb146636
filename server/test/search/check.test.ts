import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import type { IndexDifference } from '../../src/domain/store/search-reads.ts';
import { execute } from '../experiments/support/schema-databases.ts';
import { call, filesContaining, newFolder, type Scope, sendRequest, serve } from '../support/cli-helpers.ts';
import {
  type Engine,
  itOnOneEngine,
  makeTwoTenants,
  message,
  ndjson,
  newDatabaseWith,
  onEveryEngine,
  startService,
} from '../support/harness.ts';
import { until } from '../support/until.ts';

/** Runs statements that damage the index, as no program should. */
const damage = (engine: Engine, url: string, statements: Record<Engine, readonly string[]>) =>
  execute(
    { engine, url, remove: async () => undefined },
    statements[engine].map((text) => ({ text })),
  );

async function indexedDatabase(t: Scope, engine: Engine) {
  const cwd = await newFolder(t);
  const { one, admin, records } = makeTwoTenants();
  const sent = ['osprey', 'grebe', 'heron'].map((query, at) => message(one.ids.conversation, at + 1, { query }));
  const { url, remove } = await newDatabaseWith(engine, [...records, ...sent]);
  t.after(remove);
  const env = { DATABASE_URL: url };
  const reindex = (...options: string[]) => call(['reindex', ...options], { cwd, env });
  return { cwd, env, url, one, admin, sent, reindex };
}

onEveryEngine('reindex --check', (engine) => {
  it('prints each difference, exit code 1; reindex builds the right index', async (t) => {
    const { url, one, sent, reindex } = await indexedDatabase(t, engine);
    const building = await reindex('--check');
    assert.deepEqual([building.code, building.stdout], [1, '']);
    assert.match(building.stderr, /^the index is being built.*\n$/);
    const { stdout: indexed } = await reindex();
    const [, records] = /^indexed (\d+) records in [\d.]+ s\n$/.exec(indexed) ?? [];
    const equal = { code: 0, signal: null, stdout: `compared ${records} records: no differences\n`, stderr: '' };
    assert.deepEqual(await reindex('--check'), equal);
    const [first, second, third] = sent.map(({ id }) => id);
    const position = (id: string | undefined) => `(SELECT position FROM search_messages WHERE id = '${id}')`;
    await damage(engine, url, {
      sqlite: [
        `INSERT INTO search_message_tokens (search_message_tokens, rowid, tokens) VALUES ('delete', ${position(first)}, 'osprey')`,
        `INSERT INTO search_message_tokens (rowid, tokens) VALUES (${position(second)}, 'zyxerased')`,
        `INSERT INTO search_message_tokens (rowid, tokens) VALUES (4711, 'zyxstray')`,
        `DELETE FROM search_messages WHERE id = '${third}'`,
        `DELETE FROM search_chunk_tokens
          WHERE rowid = (SELECT position FROM search_chunks WHERE id = '${one.ids.chunk}')`,
        `UPDATE search_chunks SET id = 'none' WHERE id = '${one.ids.segment}'`,
      ],
      postgres: [
        `UPDATE search_messages SET tokens = ts_delete(tokens, 'osprey') WHERE id = '${first}'`,
        `UPDATE search_messages SET tokens = tokens || array_to_tsvector('{zyxerased}') WHERE id = '${second}'`,
        `DELETE FROM search_messages WHERE id = '${third}'`,
        `UPDATE search_chunks SET tokens = NULL WHERE id = '${one.ids.chunk}'`,
        `UPDATE search_chunks SET id = 'none' WHERE id = '${one.ids.segment}'`,
      ],
    });
    const damaged = await reindex('--check');
    assert.equal(damaged.code, 1);
    const [conversation, dataset] = [`of conversation ${one.ids.conversation}`, `of dataset ${one.ids.dataset}`];
    const last = damaged.stdout.trimEnd().split('\n').at(-1);
    assert.equal(last, `compared ${records} records: there are differences, run backscroll reindex`);
    const stray = /(\d+) words in the index belong to no message and no chunk/.exec(damaged.stdout)?.[1];
    // The words of the third message, and the one at a position that no message ever had.
    if (engine === 'sqlite') assert.ok(Number(stray) > 5, damaged.stdout);
    assert.deepEqual(
      damaged.stdout
        .split('\n')
        .filter((line) => /^(message|segment|child_chunk) /.test(line))
        .sort(),
      [
        `message ${first} ${conversation} has other words in the index`,
        `message ${second} ${conversation} has other words in the index`,
        `message ${third} ${conversation} is not in the index`,
        `segment none ${dataset} is in the index, but does not exist`,
        `segment ${one.ids.segment} ${dataset} is not in the index`,
        `child_chunk ${one.ids.chunk} ${dataset} has other words in the index`,
      ].sort(),
    );
    assert.equal((await reindex()).stdout.split(' ')[1], records);
    assert.deepEqual(await reindex('--check'), equal);
    if (engine === 'sqlite') {
      for (const word of ['zyxerased', 'zyxstray']) {
        assert.deepEqual(filesContaining(url.replace('sqlite:', ''), word), [], word);
      }
    }
  });

  itOnOneEngine(
    engine,
    'beside a service: what is not indexed yet is no difference, and the records that the service indexes are counted',
    async (t) => {
      const { cwd, env, one, admin, url, reindex } = await indexedDatabase(t, engine);
      const service = await serve(t, { cwd, env });
      const indexed = await reindex();
      assert.match(indexed.stdout, /^indexed [1-9]\d* records in/);
      if (engine === 'sqlite') {
        await damage(engine, url, {
          sqlite: [`INSERT INTO search_message_tokens (rowid, tokens) VALUES (4711, 'zyxstray')`],
          postgres: [],
        });
        assert.equal((await reindex()).code, 0);
        assert.deepEqual(filesContaining(url.replace('sqlite:', ''), 'zyxstray'), []);
      }
      let isWriting = true;
      const writes = (async () => {
        for (let at = 0; isWriting; at += 1) {
          const lines = ndjson(
            Array.from({ length: 20 }, () => message(one.ids.conversation, at, { query: 'osprey' })),
          );
          assert.equal(
            (await sendRequest(service.base, '/admin/records', admin, { method: 'POST', lines })).status,
            200,
          );
        }
      })();
      for (let round = 0; round < 2; round += 1) {
        const { code, stdout, stderr } = await reindex('--check');
        assert.deepEqual([code, stderr], [0, ''], stdout);
      }
      isWriting = false;
      await writes;
      await service.end('SIGTERM');
    },
  );

  if (engine === 'sqlite')
    it('other writes pass while reindex waits for a reader of the file', async (t) => {
      const { one, records } = makeTwoTenants();
      const service = await startService(engine);
      t.after(() => service.close());
      const word = 'zyxkept';
      await service.load([...records, message(one.ids.conversation, 1, { query: word })]);
      await service.index();
      const slowReader = service.store.exports.all()[Symbol.asyncIterator]();
      await slowReader.next();
      let isWaiting = true;
      const resetting = service.store.search.reset('the rules of another version').finally(() => {
        isWaiting = false;
      });
      await until(async () => (await service.store.search.count()) === 0);
      const added = message(one.ids.conversation, 2);
      await service.load([added]);
      assert.ok(isWaiting);
      await slowReader.return?.();
      await resetting;
    });

  it('finds no difference after many chunks were edited, added and deleted in any order', async () => {
    const { one, admin, records } = makeTwoTenants();
    const service = await startService(engine);
    try {
      const chunkIds = Array.from({ length: 260 }, () => randomUUID());
      const numbers = [...chunkIds.keys()];
      const chunk = (at: number, content: string, deleted = false) => ({
        ...{ record: 'child_chunk', id: chunkIds[at], segment_id: one.ids.segment, position: at, content, deleted },
      });
      await service.load([...records, ...numbers.slice(0, 230).map((at) => chunk(at, `petrel number${at}`))]);
      await service.index();
      const edited = numbers.toReversed().filter((at) => at % 3 !== 0);
      await service.load(edited.map((at) => chunk(at, `fulmar number${at}`, at % 5 === 0)));
      await service.index();
      const found: IndexDifference[] = [];
      const { strayWords } = await service.store.search.check((difference) => found.push(difference));
      assert.deepEqual([found, strayWords], [[], 0]);
      const hits = async (q: string) => {
        const path = `/admin/search?${new URLSearchParams({ in: 'knowledge', limit: '100', q })}`;
        return (await service.request('GET', path, { key: admin })).body.data.length;
      };
      const isNow = (at: number) => at % 5 !== 0 && `${at}`.startsWith('7');
      assert.equal(await hits('petrel'), numbers.slice(0, 230).filter((at) => at % 3 === 0).length);
      assert.equal(await hits('fulmar number7'), edited.filter(isNow).length);
    } finally {
      await service.close();
    }
  });

  it('compares in slices of any size', async () => {
    const { one, records } = makeTwoTenants();
    const service = await startService(engine);
    try {
      const sent = Array.from({ length: 40 }, (_, at) =>
        message(one.ids.conversation, at, { query: `osprey w${at % 5}` }),
      );
      await service.load([...records, ...sent]);
      await service.index();
      const differences = async (sliceMax: number) => {
        const found: IndexDifference[] = [];
        const { strayWords } = await service.store.search.check((difference) => found.push(difference), sliceMax);
        return { found, strayWords };
      };
      for (const sliceMax of [1, 7, 40, 100])
        assert.deepEqual(await differences(sliceMax), { found: [], strayWords: 0 });
      const id = sent[17]?.id as string;
      await damage(engine, service.config.database_url, {
        sqlite: [
          `INSERT INTO search_message_tokens (search_message_tokens, rowid, tokens)
            VALUES ('delete', (SELECT position FROM search_messages WHERE id = '${id}'), 'osprey')`,
          `INSERT INTO search_message_tokens (rowid, tokens) VALUES (${30 * 2 ** 16 + 5}, 'zyxstray'), (-1, 'zyxstray')`,
        ],
        postgres: [`UPDATE search_messages SET tokens = ts_delete(tokens, 'osprey') WHERE id = '${id}'`],
      });
      const difference = { kind: 'message', scope: one.ids.conversation, id, fault: 'differs' };
      for (const sliceMax of [1, 7, 40, 100]) {
        assert.deepEqual(await differences(sliceMax), {
          found: [difference],
          strayWords: engine === 'sqlite' ? 2 : 0,
        });
      }
    } finally {
      await service.close();
    }
  });
});
