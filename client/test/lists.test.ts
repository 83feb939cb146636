import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { makeTenant, message, type Service, startService } from '../../server/test/support/harness.ts';
import { Aborted, Backscroll, type ConversationsQuery, type Fetch, type Items, NotFound } from '../src/index.ts';

const tenant = makeTenant();
const { dataset: dataset_id, document: document_id, segment: segment_id } = tenant.ids;
const workspace_id = tenant.ids.workspace;

async function idsOf(items: Items<{ id: string }>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of items) ids.push(id);
  return ids;
}

/** Queries of the requests, in their order. */
function watch(): { fetch: Fetch; queries: string[] } {
  const queries: string[] = [];
  const watched: Fetch = (url, init) => {
    queries.push(new URL(url).search.slice(1));
    return fetch(url, init);
  };
  return { fetch: watched, queries };
}

describe('lists', () => {
  let service: Service;
  before(async () => {
    service = await startService('sqlite');
    await service.load(tenant.records);
  });
  after(() => service.close());

  const withKey = (key: string, own: Fetch = fetch) =>
    new Backscroll({ baseUrl: `${service.base}/v1`, key, retries: 0, fetch: own });
  const app = (own?: Fetch) => withKey(tenant.keys.app, own);
  const knowledge = (own?: Fetch) => withKey(tenant.keys.knowledge, own);

  /** Conversations of a new user, created at these times; ids from the newest to the oldest. */
  async function converse(times: readonly number[]): Promise<{ user: string; newestFirst: string[] }> {
    const user = randomUUID();
    const record = 'conversation';
    const conversations = times.map((created_at) => ({
      ...{ record, id: randomUUID(), app_id: tenant.ids.app, user, created_at },
    }));
    await service.load(conversations);
    const inOrder = conversations.sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? 1 : -1));
    return { user, newestFirst: inOrder.map(({ id }) => id) };
  }

  describe('conversations', () => {
    it('returns every conversation once, with any limit, in any order, while others are added', async () => {
      const times = fc.array(fc.integer({ min: 100, max: 102 }), { maxLength: 40 });
      const limit = fc.oneof(fc.integer({ min: 1, max: 7 }), fc.constantFrom(39, 40, 100, undefined));
      const sort = fc.constantFrom<ConversationsQuery['sort_by']>(
        'created_at',
        '-created_at',
        'updated_at',
        '-updated_at',
        undefined,
      );
      await fc.assert(
        fc.asyncProperty(times, limit, sort, async (given, size, sort_by) => {
          const { user, newestFirst } = await converse(given);
          const isAscending = sort_by === 'created_at' || sort_by === 'updated_at';
          const expected = isAscending ? newestFirst.toReversed() : newestFirst;
          const seen: string[] = [];
          for await (const { id } of app().conversations({ user, limit: size, sort_by })) {
            seen.push(id);
            const more = { record: 'conversation', id: randomUUID(), app_id: tenant.ids.app, user };
            if (!isAscending) await service.load([{ ...more, created_at: 103 }]);
          }
          assert.deepEqual(seen, expected);
        }),
        { numRuns: 25 },
      );
    });

    it('returns each conversation once, even if the last of a page moves, in either direction', async () => {
      for (const sort_by of ['-updated_at', 'updated_at'] as const) {
        const { user, newestFirst } = await converse([1, 2, 3, 4, 5]);
        const seen: string[] = [];
        for await (const { id } of app().conversations({ user, limit: 2, sort_by })) {
          seen.push(id);
          if (seen.length === 2) await service.load([message(id, 1000)]);
        }
        assert.deepEqual(seen, sort_by === 'updated_at' ? newestFirst.toReversed() : newestFirst);
      }
    });

    it('continues after the last conversation if a proxy removes the Link header', async () => {
      const { user, newestFirst } = await converse([1, 2, 3]);
      const withoutLink: Fetch = async (url, init) => {
        const { status, headers, body } = await fetch(url, init);
        return new Response(body, { status, headers: [...headers].filter(([name]) => name !== 'link') });
      };
      assert.deepEqual(await idsOf(app(withoutLink).conversations({ user, limit: 2 })), newestFirst);
    });

    it('goes on if the loop, or another client, deletes what was read', async () => {
      const { user, newestFirst } = await converse([1, 2, 3, 4, 5, 6, 7]);
      const { fetch, queries } = watch();
      const seen: string[] = [];
      for await (const { id: conversation_id } of app(fetch).conversations({ user, limit: 3 })) {
        seen.push(conversation_id);
        await app().deleteConversation({ conversation_id });
      }
      assert.deepEqual(seen, newestFirst);
      assert.equal(queries.length, 3);
    });

    it('starts after last_id, which must exist', async () => {
      const { user, newestFirst } = await converse([1, 2, 3, 4, 5]);
      const last_id = newestFirst[1];
      assert.deepEqual(await idsOf(app().conversations({ user, last_id, limit: 2 })), newestFirst.slice(2));
      const unknown = app().conversations({ user, last_id: randomUUID() });
      await assert.rejects(idsOf(unknown), { name: 'NotFound', message: 'Last Conversation Not Exists.' });
    });

    it('requests a page when the loop needs it, and none before the loop begins or after it was left', async () => {
      const { user } = await converse([1, 2, 3, 4, 5]);
      const { fetch, queries } = watch();
      const loop = app(fetch).conversations({ user, limit: 2 });
      assert.equal(queries.length, 0);
      for (const requests of [1, 1, 2, 2, 3]) {
        assert.ok(!(await loop.next()).done);
        assert.equal(queries.length, requests);
      }
      assert.deepEqual(await loop.next(), { value: undefined, done: true });
      const page = `user=${user}&limit=2`;
      assert.deepEqual([queries[0], queries.length], [page, 3]);
      for (const query of queries.slice(1)) assert.match(query, new RegExp(`^${page}&cursor=[\\w-]+$`));
      for await (const _ of app(fetch).conversations({ user })) break;
      assert.deepEqual(queries.slice(3), [`user=${user}&limit=100`]);
    });

    it('Aborted: between two conversations, and before the first', async () => {
      const { user } = await converse([1, 2]);
      const controller = new AbortController();
      const { signal } = controller;
      const loop = app().conversations({ user }, { signal });
      assert.ok(!(await loop.next()).done);
      controller.abort('enough');
      await assert.rejects(loop.next(), (error) => error instanceof Aborted && error.cause === 'enough');
      await assert.rejects(app().conversations({ user }, { signal }).next(), Aborted);
    });
  });

  /** A list with numbered pages: how to add an item with a name or text, and how to read it. */
  type Numbered = {
    name: string;
    /** Whether newer items come first. */
    isNewestFirst: boolean;
    record: (id: string, text: string, at: number) => object;
    items: (client: Backscroll, query: { limit?: number; keyword?: string; page?: number }) => Items<{ id: string }>;
  };
  const numbered: Numbered[] = [
    {
      name: 'datasets',
      isNewestFirst: true,
      record: (id, name, created_at) => ({ record: 'dataset', id, workspace_id, name, created_at }),
      items: (client, query) => client.datasets(query),
    },
    {
      name: 'documents',
      isNewestFirst: true,
      record: (id, name, created_at) => ({ record: 'document', id, dataset_id, name, created_at }),
      items: (client, query) => client.documents({ dataset_id, ...query }),
    },
    {
      name: 'segments',
      isNewestFirst: false,
      record: (id, content, position) => ({ record: 'segment', id, document_id, position, content }),
      items: (client, query) => client.segments({ dataset_id, document_id, ...query }),
    },
    {
      name: 'childChunks',
      isNewestFirst: false,
      record: (id, content, position) => ({ record: 'child_chunk', id, segment_id, position, content }),
      items: (client, query) => client.childChunks({ dataset_id, document_id, segment_id, ...query }),
    },
  ];
  for (const { name, isNewestFirst, record, items } of numbered) {
    describe(name, () => {
      const keyword = `${name}-%_`;
      let ids: string[];
      before(async () => {
        ids = Array.from({ length: 7 }, () => randomUUID());
        await service.load(ids.map((id, at) => record(id, `A ${keyword.toUpperCase()} item`, 100 + at)));
        await service.load([record(randomUUID(), 'another', 200)]);
        if (isNewestFirst) ids.reverse();
      });

      it('returns every item once, with any limit, and starts with any page', async () => {
        for (const limit of [1, 2, 3, 6, 7, 8, 100])
          assert.deepEqual(await idsOf(items(knowledge(), { limit, keyword })), ids, `limit ${limit}`);
        assert.deepEqual(await idsOf(items(knowledge(), { limit: 3, page: 2, keyword })), ids.slice(3));
        assert.deepEqual(await idsOf(items(knowledge(), { limit: 3, page: 9, keyword })), []);
        const all = await idsOf(items(knowledge(), {}));
        assert.ok(all.length > 7 && ids.every((id) => all.includes(id)));
      });

      it('requests a page when the loop needs it', async () => {
        const { fetch, queries } = watch();
        const loop = items(knowledge(fetch), { limit: 3, keyword });
        assert.equal(queries.length, 0);
        for (const requests of [1, 1, 1, 2, 2, 2, 3]) {
          assert.ok(!(await loop.next()).done);
          assert.equal(queries.length, requests);
        }
        assert.ok((await loop.next()).done);
        const query = String(new URLSearchParams({ limit: '3', keyword }));
        assert.deepEqual(queries, [query, `${query}&page=2`, `${query}&page=3`]);
      });

      it('returns no item twice if one is added meanwhile', async () => {
        const seen: string[] = [];
        const text = randomUUID();
        const own = Array.from({ length: 4 }, () => randomUUID());
        await service.load(own.map((id, at) => record(id, text, 300 + at)));
        for await (const { id } of items(knowledge(), { limit: 2, keyword: text })) {
          seen.push(id);
          if (seen.length === 1) await service.load([record(randomUUID(), text, isNewestFirst ? 400 : 0)]);
        }
        assert.equal(new Set(seen).size, seen.length);
        assert.ok(own.every((id) => seen.includes(id)));
      });

      it('InvalidParam, Unauthorized: thrown when the loop begins', async () => {
        await assert.rejects(items(knowledge(), { limit: 101 }).next(), { name: 'InvalidParam' });
        await assert.rejects(items(app(), {}).next(), { name: 'Unauthorized' });
      });
    });
  }

  it('datasets with all of the tags, documents by status, segments by one of several statuses', async () => {
    const tags = ['one', 'two'].map((name) => ({ id: randomUUID(), name, type: 'knowledge' }));
    const [tagged, half] = [randomUUID(), randomUUID()];
    const dataset = { record: 'dataset', workspace_id, name: 'tagged' };
    const archived = { record: 'document', id: randomUUID(), dataset_id: tagged, name: 'old', archived: true };
    const fresh = { record: 'document', id: randomUUID(), dataset_id: tagged, name: 'new' };
    const segments = ['waiting', 'error', 'completed'].map((status, at) => ({
      ...{ record: 'segment', id: randomUUID(), document_id: fresh.id, content: status, position: at + 1, status },
    }));
    const datasets = [
      { ...dataset, id: tagged, tags },
      { ...dataset, id: half, tags: tags.slice(1) },
    ];
    await service.load([...datasets, archived, fresh, ...segments]);
    const client = knowledge();
    assert.deepEqual(await idsOf(client.datasets({ tag_ids: tags.map(({ id }) => id) })), [tagged]);
    assert.deepEqual(await idsOf(client.documents({ dataset_id: tagged, status: 'archived' })), [archived.id]);
    const some = { dataset_id: tagged, document_id: fresh.id, status: ['waiting', 'completed'] };
    assert.deepEqual(await idsOf(client.segments(some)), [segments[0]?.id, segments[2]?.id]);
  });

  it('NotFound: each part of a path', async () => {
    const unknown = randomUUID();
    const client = knowledge();
    const path = { dataset_id, document_id, segment_id };
    const loops: [Items<{ id: string }>, string][] = [
      [client.documents({ dataset_id: unknown }), 'dataset not found'],
      [client.segments({ ...path, document_id: unknown }), 'document not found'],
      [client.childChunks({ ...path, segment_id: unknown }), 'segment not found'],
    ];
    for (const [loop, text] of loops)
      await assert.rejects(idsOf(loop), (error) => error instanceof NotFound && error.message === text);
    assert.throws(() => client.segments({ ...path, document_id: '..' }), TypeError);
  });

  it('single objects: a dataset, a document, a segment, the app', async () => {
    const client = knowledge();
    const path = { dataset_id, document_id, segment_id };
    assert.equal((await client.getDataset(path)).name, 'dataset');
    const document = await client.getDocument(path);
    assert.deepEqual([document.id, document.name, document.display_status], [document_id, 'document', 'available']);
    const only = await client.getDocument({ ...path, metadata: 'only' });
    assert.deepEqual(only, { id: document_id, doc_type: null, doc_metadata: [] });
    const unknown = client.getDocument({ ...path, metadata: 'some' as 'all' });
    await assert.rejects(unknown, { name: 'InvalidMetadata', status: 400, code: 'invalid_metadata' });
    const segment = await client.getSegment(path);
    assert.equal(segment.content, 'segment text');
    assert.ok(segment.child_chunks.some(({ id }) => id === tenant.ids.chunk));
    const { name, mode } = await app().getInfo();
    assert.deepEqual([name, mode], ['app', 'chat']);
    assert.deepEqual((await app().getParameters()).retriever_resource, { enabled: true });
  });
});
