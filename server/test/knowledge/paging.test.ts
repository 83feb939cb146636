import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { itOnOneEngine, makeTenant, onEveryEngine, pluck, useService } from '../support/harness.ts';
import { shortOrLong } from '../support/long.ts';

type Item = { id: string; position: number; created_at: number; child_chunks: Item[]; content: string };

onEveryEngine('pages of the lists of knowledge bases', (engine) => {
  const service = useService(engine);

  const below = (count: number) => Math.floor(Math.random() * count);
  const byId = (one: Item, other: Item) => (one.id < other.id ? -1 : 1);
  const newest = (one: Item, other: Item) =>
    other.created_at - one.created_at || (other.position ?? 0) - (one.position ?? 0) || byId(one, other);
  const byPosition = (one: Item, other: Item) => one.position - other.position || byId(one, other);

  it('neither lose nor repeat an item, whatever the size of the pages', async () => {
    for (let round = 0; round < shortOrLong(1, 20); round += 1) {
      const tenant = makeTenant();
      const key = tenant.keys.knowledge;
      const { workspace, dataset, document, segment } = tenant.ids;
      const count = 1 + below(60);
      const many = <T>(make: () => T): T[] => Array.from({ length: count }, make);
      const times = () => ({ created_at: below(3), updated_at: 1 });
      const datasets = many(() => ({
        record: 'dataset',
        id: randomUUID(),
        workspace_id: workspace,
        name: 'n',
        ...times(),
      }));
      const documents = many(() => {
        return { record: 'document', id: randomUUID(), dataset_id: dataset, name: 'n', position: below(3), ...times() };
      });
      const segments = many(() => {
        return { record: 'segment', id: randomUUID(), document_id: document, content: 'x', position: below(3) };
      });
      const chunks = many(() => {
        return { record: 'child_chunk', id: randomUUID(), segment_id: segment, content: 'x', position: below(3) };
      });
      await service.load(tenant.records);
      await service.load([...datasets, ...documents, ...segments, ...chunks]);
      const inDataset = `/v1/datasets/${dataset}/documents`;
      const lists: [string, (one: Item, other: Item) => number, readonly { id: string }[]][] = [
        ['/v1/datasets', newest, [...datasets, { id: dataset }]],
        [inDataset, newest, [...documents, { id: document }]],
        [`${inDataset}/${document}/segments`, byPosition, [...segments, { id: segment }]],
        [
          `${inDataset}/${document}/segments/${segment}/child_chunks`,
          byPosition,
          [...chunks, { id: tenant.ids.chunk }],
        ],
      ];
      for (const [path, order, expected] of lists) {
        const limit = 1 + below(20);
        const seen: Item[] = [];
        for (let page = 1, isLast = false; !isLast; page += 1) {
          const { status, body } = await service.as(key).get(`${path}?limit=${limit}&page=${page}`);
          assert.deepEqual([status, body.total, body.limit, body.page], [200, expected.length, limit, page]);
          isLast = page * limit >= body.total;
          if ('has_more' in body) assert.equal(body.has_more, !isLast);
          else assert.equal(body.total_pages, Math.ceil(body.total / limit));
          seen.push(...body.data);
        }
        assert.deepEqual(seen.map(({ id }) => id).sort(), expected.map(({ id }) => id).sort(), path);
        assert.deepEqual(seen, seen.toSorted(order), path);
      }
    }
  });

  it('200: child chunks of any size are in the page of their segments', async () => {
    const tenant = makeTenant();
    const { dataset, document, segment } = tenant.ids;
    // The second page is too large to be read at once.
    for (const sizes of [[4_000, 5_000, 70_000, 10], Array<number>(42).fill(100_000)]) {
      const chunks = sizes.map((size, at) => {
        const content = 'x'.repeat(size);
        return { record: 'child_chunk', id: randomUUID(), segment_id: segment, position: at + 2, content };
      });
      await service.load([...tenant.records, ...chunks]);
      const path = `/v1/datasets/${dataset}/documents/${document}/segments`;
      const { body } = await service.as(tenant.keys.knowledge).get(path);
      const contents = new Map(body.data[0].child_chunks.map(({ id, content }: Item) => [id, content]));
      for (const { id, content } of chunks) assert.equal(contents.get(id), content);
    }
  });

  // In `npm test`, large pages of messages and of conversations are read on every engine.
  itOnOneEngine(engine, '200: a page that does not fit into memory is complete, with its length', async () => {
    const tenant = makeTenant();
    const key = tenant.keys.knowledge;
    const { dataset, document, segment, workspace } = tenant.ids;
    const large = 'é"\n'.repeat(200_000);
    const segments = Array.from({ length: 4 }, (_, at) => {
      return {
        record: 'segment',
        id: randomUUID(),
        document_id: document,
        position: at + 2,
        content: `${at} ${large}`,
      };
    });
    // More child chunks than are read at once, and a large one among them.
    const chunks = Array.from({ length: 1_200 }, (_, at) => {
      const content = at === 600 ? large : `chunk ${at}`;
      return { record: 'child_chunk', id: randomUUID(), segment_id: segment, position: at + 2, content };
    });
    await service.load(tenant.records);
    await service.load([...segments, ...chunks]);
    await service.load(
      Array.from({ length: 4 }, () => {
        const settings = { external_retrieval_model: { text: large } };
        return { record: 'dataset', id: randomUUID(), workspace_id: workspace, name: 'large', settings };
      }),
    );
    const inDocument = `/v1/datasets/${dataset}/documents/${document}`;
    const read = async (path: string) => {
      const { status, text, body } = await service.as(key).get(path);
      assert.equal(status, 200, text.slice(0, 200));
      const head = await service.request('HEAD', path, { key });
      assert.deepEqual([head.status, head.text], [200, '']);
      return body;
    };
    const list = await read(`${inDocument}/segments`);
    assert.deepEqual(pluck(list.data, 'id'), [segment, ...segments.map(({ id }) => id)]);
    assert.deepEqual(
      pluck(list.data.slice(1), 'content'),
      segments.map(({ content }) => content),
    );
    const expected = [tenant.ids.chunk, ...chunks.map(({ id }) => id)];
    assert.deepEqual(pluck(list.data[0].child_chunks, 'id'), expected);
    const single = await read(`${inDocument}/segments/${segment}`);
    assert.deepEqual(single.data, list.data[0]);
    assert.equal(single.data.child_chunks[601].content, large);
    const page = await read(`${inDocument}/segments/${segment}/child_chunks?limit=100&page=7`);
    assert.deepEqual(page.data, list.data[0].child_chunks.slice(600, 700));
    const bases = await read('/v1/datasets');
    assert.equal(bases.total, 5);
    const largeBases = bases.data.filter(({ name }: { name: string }) => name === 'large');
    assert.deepEqual(pluck(largeBases, 'external_retrieval_model'), Array(4).fill({ text: large }));
  });
});
