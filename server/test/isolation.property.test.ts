import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { KeyKind } from '../src/contract/record.ts';
import { makeSecret } from '../src/domain/secret.ts';
import {
  type Answer,
  type Ask,
  type ChunkIds,
  chunkPath,
  makeTenant,
  message,
  ndjson,
  onEveryEngine,
  type Service,
  startService,
} from './harness.ts';

const kinds = ['app', 'knowledge', 'writer', 'admin'] as const satisfies readonly KeyKind[];
const metricsToken = 'metrics-token-of-this-test';
const records = { 'content-type': 'application/x-ndjson' };

/** What a caller can tell two answers apart by. */
function visible({ status, headers, text }: Answer): object {
  const { date: _, 'x-request-id': __, ...rest } = headers;
  return { status, headers: rest, text };
}

/** One knowledge base with one chunk. */
function makeDataset(workspace_id: string) {
  const ids = { dataset: randomUUID(), document: randomUUID(), segment: randomUUID(), chunk: randomUUID() };
  return {
    ids,
    records: [
      { record: 'dataset', id: ids.dataset, workspace_id, name: 'd' },
      { record: 'document', id: ids.document, dataset_id: ids.dataset, name: 'd' },
      { record: 'segment', id: ids.segment, document_id: ids.document, position: 1, content: 's' },
      { record: 'child_chunk', id: ids.chunk, segment_id: ids.segment, position: 1, content: 'c' },
    ],
  };
}

function provider(workspace_id: string, name: string, status = 'active') {
  const model = {
    model: `model of ${name}`,
    label: {},
    model_type: 'llm',
    fetch_from: 'predefined-model',
    model_properties: {},
    status: 'active',
    deprecated: false,
    load_balancing_enabled: false,
    has_invalid_load_balancing_configs: false,
  };
  const entry = { provider: name, label: {}, icon_small: {}, status, models: [model] };
  return { record: 'model_provider', workspace_id, ...entry };
}

/**
 * Two workspaces. The first has a second app, a deleted conversation, a second dataset, a knowledge key restricted to
 * the first dataset, and an app that is no chat app.
 */
function makeScene() {
  const one = makeTenant();
  const other = makeTenant();
  const workspace_id = one.ids.workspace;
  const second = {
    app: randomUUID(),
    conversation: randomUUID(),
    keys: { app: makeSecret('app'), writer: makeSecret('writer') },
  };
  const batch = { app: randomUUID(), conversation: randomUUID(), key: makeSecret('app') };
  const mine = { bob: randomUUID(), nobody: randomUUID(), deleted: randomUUID() };
  const outside = makeDataset(workspace_id);
  const sibling = makeDataset(workspace_id);
  const restricted = makeSecret('knowledge');
  const admin = makeSecret('admin');
  const messages = {
    one: [message(one.ids.conversation, 1), message(one.ids.conversation, 2), message(one.ids.conversation, 3)],
    bob: message(mine.bob, 2),
    deleted: message(mine.deleted, 2),
    second: message(second.conversation, 2),
    other: message(other.ids.conversation, 2),
  };
  const key = { record: 'api_key', workspace_id };
  const all: object[] = [
    ...one.records,
    ...other.records,
    { record: 'app', id: second.app, workspace_id, name: 'second', mode: 'chat' },
    { ...key, kind: 'app', app_id: second.app, name: 'second', secret: second.keys.app },
    { ...key, kind: 'writer', app_id: second.app, name: 'second', secret: second.keys.writer },
    { record: 'conversation', id: second.conversation, app_id: second.app, user: 'ann' },
    { record: 'app', id: batch.app, workspace_id, name: 'batch', mode: 'completion' },
    { ...key, kind: 'app', app_id: batch.app, name: 'batch', secret: batch.key },
    { record: 'conversation', id: batch.conversation, app_id: batch.app, user: 'ann' },
    { record: 'conversation', id: mine.bob, app_id: one.ids.app, user: 'bob' },
    { record: 'conversation', id: mine.nobody, app_id: one.ids.app, user: null },
    { record: 'conversation', id: mine.deleted, app_id: one.ids.app, user: 'ann', deleted: true },
    ...messages.one,
    messages.bob,
    messages.deleted,
    messages.second,
    messages.other,
    ...outside.records,
    // A second branch inside the first dataset.
    ...sibling.records.slice(1).map((line) => ('dataset_id' in line ? { ...line, dataset_id: one.ids.dataset } : line)),
    { ...key, kind: 'knowledge', name: 'restricted', dataset_ids: [one.ids.dataset], secret: restricted },
    { record: 'api_key', kind: 'admin', name: 'admin', secret: admin },
    provider(workspace_id, 'of one'),
    provider(other.ids.workspace, 'of other'),
  ];
  return { one, other, second, batch, mine, outside, sibling, restricted, admin, messages, records: all };
}

onEveryEngine('isolation', (engine) => {
  let service: Service;
  const scene = makeScene();
  const { one, other, second, batch, mine, outside, sibling, restricted, admin, messages } = scene;

  before(async () => {
    service = await startService(engine, { METRICS_TOKEN: metricsToken });
    await service.load(scene.records);
  });
  after(() => service.close());

  /** Everything that is kept, as an admin sees it. */
  async function everything(): Promise<string> {
    const { status, text } = await service.ask('GET', '/admin/records', { key: admin });
    assert.equal(status, 200);
    return text;
  }

  /** The same question about a foreign thing and about one that exists nowhere. */
  async function assertAlike(ask: (id: string) => Promise<Answer>, foreign: string, status: number): Promise<Answer> {
    const [about, nothing] = [await ask(foreign), await ask(randomUUID())];
    assert.equal(about.status, status, about.text);
    assert.deepEqual(visible(about), visible(nothing));
    assert.ok(!about.text.includes(foreign), 'a foreign id is not repeated');
    return about;
  }

  describe('GET /messages', () => {
    const ask = (key: string, query: Record<string, string>, headers: Record<string, string> = {}) =>
      service.ask('GET', `/v1/messages?${new URLSearchParams(query)}`, { key, headers });

    const conversations: Record<string, { id: string; app: string; user: string | null; deleted?: true }> = {
      "the app's own": { id: one.ids.conversation, app: one.ids.app, user: 'ann' },
      "another user's": { id: mine.bob, app: one.ids.app, user: 'bob' },
      "nobody's": { id: mine.nobody, app: one.ids.app, user: null },
      'a deleted one': { id: mine.deleted, app: one.ids.app, user: 'ann', deleted: true },
      "the second app's": { id: second.conversation, app: second.app, user: 'ann' },
      "the completion app's": { id: batch.conversation, app: batch.app, user: 'ann' },
      "the other workspace's": { id: other.ids.conversation, app: other.ids.app, user: 'ann' },
    };
    const callers: Record<string, { key: string; app: string }> = {
      'the first app': { key: one.keys.app, app: one.ids.app },
      'the second app': { key: second.keys.app, app: second.app },
      'the other workspace': { key: other.keys.app, app: other.ids.app },
    };

    for (const [caller, { key, app }] of Object.entries(callers)) {
      for (const [name, conversation] of Object.entries(conversations)) {
        for (const user of [undefined, 'ann', 'bob', 'Ann', 'ann ', 'nobody', 'null']) {
          const opens =
            conversation.app === app && !conversation.deleted && (user === undefined || user === conversation.user);
          it(`${opens ? 200 : 404}: ${caller} asks for ${name}, user ${user ?? 'absent'}`, async () => {
            const whose: Record<string, string> = user === undefined ? {} : { user };
            const query = (conversation_id: string) => ask(key, { conversation_id, ...whose });
            if (opens) {
              const { status, body } = await query(conversation.id);
              assert.equal(status, 200);
              for (const item of body.data) assert.equal(item.conversation_id, conversation.id);
              return;
            }
            const answer = await assertAlike(query, conversation.id, 404);
            assert.deepEqual(answer.body, { status: 404, code: 'not_found', message: 'conversation not exists' });
          });
        }
      }
    }

    const [oldest, , newest] = messages.one;
    assert.ok(oldest && newest);
    const cursors: Record<string, string> = {
      'another conversation of the app': messages.bob.id,
      'a deleted conversation': messages.deleted.id,
      'the second app': messages.second.id,
      'the other workspace': messages.other.id,
      'a conversation itself': one.ids.conversation,
    };
    for (const [name, id] of Object.entries(cursors)) {
      it(`404: a first_id of ${name} is like one that exists nowhere`, async () => {
        const conversation_id = one.ids.conversation;
        const query = (first_id: string) => ask(one.keys.app, { conversation_id, first_id });
        const answer = await assertAlike(query, id, 404);
        assert.deepEqual(answer.body, { status: 404, code: 'not_found', message: 'first message not exists' });
      });
    }

    it('404: a first_id tells nothing about a foreign conversation', async () => {
      for (const conversation_id of [other.ids.conversation, second.conversation, mine.deleted]) {
        for (const first_id of [messages.other.id, messages.second.id, messages.deleted.id, newest.id, randomUUID()]) {
          const query = (id: string) => ask(one.keys.app, { conversation_id: id, first_id });
          const { body } = await assertAlike(query, conversation_id, 404);
          assert.equal(body.message, 'conversation not exists');
        }
      }
    });

    it('404: a tag held, or *, tells nothing about a foreign conversation', async () => {
      const page = await ask(other.keys.app, { conversation_id: other.ids.conversation });
      for (const held of ['*', page.headers.etag ?? assert.fail('no ETag')]) {
        const query = (id: string) => ask(one.keys.app, { conversation_id: id }, { 'if-none-match': held });
        await assertAlike(query, other.ids.conversation, 404);
      }
    });

    it('404: letter case of a foreign id makes no difference', async () => {
      const query = (id: string) => ask(one.keys.app, { conversation_id: id.toUpperCase() });
      await assertAlike(query, other.ids.conversation, 404);
    });

    it('400: an app that is no chat app learns nothing about any conversation', async () => {
      for (const id of [batch.conversation, one.ids.conversation, other.ids.conversation]) {
        const answer = await assertAlike((conversation_id) => ask(batch.key, { conversation_id }), id, 400);
        assert.equal(answer.body.code, 'not_chat_app');
      }
    });

    it('200: a page holds nothing of another conversation, from any cursor', async () => {
      const conversation_id = one.ids.conversation;
      const whole = await ask(one.keys.app, { conversation_id, limit: '100' });
      assert.deepEqual(
        whole.body.data.map(({ id }: { id: string }) => id),
        messages.one.map(({ id }) => id).reverse(),
      );
      const none = await ask(one.keys.app, { conversation_id, first_id: oldest.id });
      assert.deepEqual(none.body.data, []);
    });

    it('404: HEAD tells no more than GET', async () => {
      const head = (id: string) => service.ask('HEAD', `/v1/messages?conversation_id=${id}`, { key: one.keys.app });
      for (const id of [other.ids.conversation, second.conversation, mine.deleted]) await assertAlike(head, id, 404);
    });
  });

  describe('child chunks', () => {
    const own: ChunkIds = one.ids;
    const branches = {
      own,
      sibling: { ...sibling.ids, dataset: one.ids.dataset },
      outside: outside.ids,
      foreign: other.ids as ChunkIds,
    };
    /** The chunk paths that hold together, by the key that may go there. */
    const reach: Record<string, { key: string; branches: ChunkIds[] }> = {
      'the first workspace': { key: one.keys.knowledge, branches: [own, branches.sibling, outside.ids] },
      'the restricted key': { key: restricted, branches: [own, branches.sibling] },
      'the other workspace': { key: other.keys.knowledge, branches: [branches.foreign] },
    };
    const parts = ['dataset', 'document', 'segment', 'chunk'] as const;
    const words = { dataset: 'dataset', document: 'document', segment: 'segment', chunk: 'child chunk' };

    /** The first part that fails, by the contract alone. */
    function firstFailing(ids: ChunkIds, paths: ChunkIds[]): (typeof parts)[number] | undefined {
      return parts.find(
        (_, at) => !paths.some((path) => parts.slice(0, at + 1).every((part) => path[part] === ids[part])),
      );
    }

    const send = (method: string, ids: ChunkIds, key: string, headers = {}) =>
      service.ask(method, chunkPath(ids), {
        key,
        headers,
        ...(method === 'PATCH' && { body: { content: 'chunk text' } }),
      });

    for (const [caller, { key, branches: paths }] of Object.entries(reach)) {
      for (const method of ['GET', 'HEAD', 'PATCH']) {
        it(`404: ${method} by ${caller}: each part foreign is like that part existing nowhere`, async () => {
          const before = await everything();
          for (const start of paths) {
            for (const part of parts) {
              for (const { [part]: id } of Object.values(branches)) {
                const ids = { ...start, [part]: id };
                if (firstFailing(ids, paths) !== part) continue;
                const answer = await assertAlike((any) => send(method, { ...start, [part]: any }, key), id, 404);
                if (method === 'HEAD') continue;
                const message = `${words[part]} not found`;
                assert.deepEqual(answer.body, { status: 404, code: 'not_found', message });
              }
            }
          }
          assert.equal(await everything(), before, 'nothing was written');
        });

        it(`404: ${method} by ${caller}: a whole foreign path is like one that exists nowhere`, async () => {
          const nowhere = makeDataset('').ids;
          for (const path of Object.values(branches)) {
            if (paths.includes(path)) continue;
            for (const headers of [{}, { 'if-match': '*' }, { 'if-match': '"x"' }, { 'if-none-match': '*' }]) {
              const [about, nothing] = [
                await send(method, path, key, headers),
                await send(method, nowhere, key, headers),
              ];
              assert.equal(about.status, 404);
              assert.deepEqual(visible(about), visible(nothing));
            }
          }
        });
      }
    }

    it('200 or 404: any mix of parts answers by the first that fails', async () => {
      const choices = [...Object.keys(branches), 'nowhere', 'no uuid'] as const;
      const pick = fc.constantFrom(...choices);
      const idOf = (choice: string, part: (typeof parts)[number]): string =>
        choice === 'nowhere' ? randomUUID() : (branches[choice as keyof typeof branches]?.[part] ?? 'no-uuid');
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...Object.values(reach)),
          fc.constantFrom('GET', 'PATCH'),
          fc.tuple(pick, pick, pick, pick),
          fc.boolean(),
          async ({ key, branches: paths }, method, [dataset, document, segment, chunk], upper) => {
            const ids = {
              dataset: idOf(dataset, 'dataset'),
              document: idOf(document, 'document'),
              segment: idOf(segment, 'segment'),
              chunk: idOf(chunk, 'chunk'),
            };
            const asked = upper ? { ...ids, dataset: ids.dataset.toUpperCase(), chunk: ids.chunk.toUpperCase() } : ids;
            const failing = firstFailing(ids, paths);
            const answer = await send(method, asked, key);
            if (failing === undefined) return assert.equal(answer.status, 200, answer.text);
            const message = `${words[failing]} not found`;
            assert.deepEqual(answer.body, { status: 404, code: 'not_found', message });
          },
        ),
        { numRuns: 400 },
      );
    });
  });

  describe('models', () => {
    const path = '/v1/workspaces/current/models/model-types/llm';
    const callers: Record<string, [string, string]> = {
      'the first app': [one.keys.app, 'of one'],
      'the second app': [second.keys.app, 'of one'],
      'the completion app': [batch.key, 'of one'],
      'the knowledge key': [one.keys.knowledge, 'of one'],
      'the restricted key': [restricted, 'of one'],
      'the other app': [other.keys.app, 'of other'],
      'the other knowledge key': [other.keys.knowledge, 'of other'],
    };
    for (const [caller, [key, name]] of Object.entries(callers)) {
      it(`200: ${caller} sees the providers of its workspace alone`, async () => {
        const { status, body } = await service.ask('GET', path, { key });
        assert.equal(status, 200);
        assert.deepEqual(
          body.data.map((entry: { provider: string; tenant_id: string }) => [entry.provider, entry.tenant_id]),
          [[name, name === 'of one' ? one.ids.workspace : other.ids.workspace]],
        );
      });
    }

    it('200: a workspace whose providers are all hidden answers like one without any', async () => {
      const [hidden, empty] = [makeTenant(), makeTenant()];
      const off = provider(hidden.ids.workspace, 'off', 'inactive');
      await service.load([...hidden.records, ...empty.records, off]);
      const [about, nothing] = [
        await service.ask('GET', path, { key: hidden.keys.app }),
        await service.ask('GET', path, { key: empty.keys.app }),
      ];
      assert.equal(about.text, '{"data":[]}');
      assert.deepEqual(visible(about), visible(nothing));
    });

    it('200: no header or parameter leads to another workspace', async () => {
      const plain = await service.ask('GET', path, { key: one.keys.app });
      const { workspace } = other.ids;
      const headers = { 'x-tenant-id': workspace, 'x-workspace-id': workspace, cookie: `workspace=${workspace}` };
      const query = `?tenant_id=${workspace}&workspace_id=${workspace}`;
      const answer = await service.ask('GET', path + query, { key: one.keys.app, headers });
      assert.deepEqual(visible(answer), visible(plain));
    });
  });

  describe('POST /admin/records by a writer', () => {
    const post = (key: string, ...lines: object[]) =>
      service.ask('POST', '/admin/records', { key, headers: records, body: ndjson(lines) });
    const writers = {
      'the first app': { key: one.keys.writer, app: one.ids.app },
      'the second app': { key: second.keys.writer, app: second.app },
      'the other workspace': { key: other.keys.writer, app: other.ids.app },
    };
    const conversationOf: Record<string, string> = {
      [one.ids.app]: one.ids.conversation,
      [second.app]: second.conversation,
      [other.ids.app]: other.ids.conversation,
      [batch.app]: batch.conversation,
    };

    for (const [writer, { key, app }] of Object.entries(writers)) {
      it(`200: ${writer} writes its own`, async () => {
        const conversation = { record: 'conversation', id: randomUUID(), app_id: app, user: 'zoe' };
        const answer = await post(key, conversation, message(conversation.id, 1), message(conversation.id, 2));
        assert.deepEqual(answer.body, { records: 3 });
      });

      it(`400: ${writer}: a message of a foreign conversation is like one of no conversation`, async () => {
        const before = await everything();
        for (const [owner, conversation] of Object.entries(conversationOf)) {
          if (owner === app) continue;
          const id = randomUUID();
          const { body } = await assertAlike((to) => post(key, { ...message(to, 1), id }), conversation, 400);
          assert.equal(body.code, 'invalid_param');
          assert.match(body.message, /^line 1: message: conversation_id /);
        }
        assert.equal(await everything(), before, 'nothing was written');
      });

      it(`400: ${writer}: a foreign message written again is like one of no conversation`, async () => {
        const before = await everything();
        for (const theirs of [messages.one[0], messages.second, messages.other]) {
          assert.ok(theirs);
          if (theirs.conversation_id === conversationOf[app]) continue;
          const again = (conversation_id: string) => post(key, { ...theirs, conversation_id, answer: 'forged' });
          await assertAlike(again, theirs.conversation_id, 400);
        }
        assert.equal(await everything(), before, 'nothing was written');
      });

      it(`400: ${writer}: a conversation of a foreign app is like one of no app`, async () => {
        const before = await everything();
        for (const owner of Object.keys(conversationOf)) {
          if (owner === app) continue;
          for (const id of [randomUUID(), conversationOf[owner], conversationOf[app]]) {
            const record = { record: 'conversation', id, user: 'ann' };
            const { body } = await assertAlike((app_id) => post(key, { ...record, app_id }), owner, 400);
            assert.equal(body.code, 'invalid_param');
            assert.match(body.message, /^line 1: conversation: /);
          }
        }
        assert.equal(await everything(), before, 'nothing was written');
      });

      it(`400: ${writer} cannot take a foreign conversation over`, async () => {
        const before = await everything();
        for (const [owner, id] of Object.entries(conversationOf)) {
          if (owner === app) continue;
          const answer = await post(key, { record: 'conversation', id, app_id: app }, message(id, 1));
          assert.equal(answer.status, 400);
          for (const secret of [owner, one.ids.workspace, other.ids.workspace]) {
            assert.ok(!answer.text.includes(secret), 'the owner is not told');
          }
        }
        assert.equal(await everything(), before, 'nothing was written');
      });

      it(`400: ${writer}: every other kind of record is refused alike, whatever it names`, async () => {
        const before = await everything();
        const refused: ((id: string) => object)[] = [
          (id) => ({ record: 'workspace', id, name: 'x' }),
          (id) => ({ record: 'app', id: randomUUID(), workspace_id: id, name: 'x', mode: 'chat' }),
          (id) => ({ record: 'app', id, workspace_id: one.ids.workspace, name: 'x', mode: 'chat' }),
          (id) => ({ record: 'dataset', id: randomUUID(), workspace_id: id, name: 'x' }),
          (id) => ({ record: 'dataset', id, workspace_id: one.ids.workspace, name: 'x' }),
          (id) => ({ record: 'document', id: randomUUID(), dataset_id: id, name: 'x' }),
          (id) => ({ record: 'segment', id: randomUUID(), document_id: id, position: 1, content: 'x' }),
          (id) => ({ record: 'child_chunk', id: randomUUID(), segment_id: id, position: 1, content: 'x' }),
          (id) => ({
            record: 'child_chunk_revision',
            child_chunk_id: id,
            revision: 1,
            content: 'x',
            replaced_at: 1,
            key_id: null,
          }),
          (id) => provider(id, 'x'),
          (id) => ({
            record: 'api_key',
            id,
            kind: 'app',
            workspace_id: one.ids.workspace,
            app_id: one.ids.app,
            name: 'x',
            digest: '0'.repeat(64),
          }),
          (id) => ({
            record: 'api_key',
            kind: 'writer',
            workspace_id: other.ids.workspace,
            app_id: id,
            name: 'x',
            digest: '1'.repeat(64),
          }),
        ];
        const existing = [...Object.values(other.ids), other.keyIds.app, second.app, one.ids.workspace, app];
        for (const make of refused) {
          const nothing = await post(key, make(randomUUID()));
          assert.equal(nothing.status, 400, nothing.text);
          for (const id of existing) assert.deepEqual(visible(await post(key, make(id))), visible(nothing));
        }
        assert.equal(await everything(), before, 'nothing was written');
      });
    }

    it('400: all or nothing across the border too', async () => {
      const before = await everything();
      const good = message(one.ids.conversation, 9);
      const answer = await post(one.keys.writer, good, message(other.ids.conversation, 9));
      assert.equal(answer.status, 400);
      assert.match(answer.body.message, /^line 2: message: conversation_id /);
      assert.equal(await everything(), before);
    });

    it('200: a message id used in another conversation is free in this one', async () => {
      const conversation = { record: 'conversation', id: randomUUID(), app_id: one.ids.app, user: 'zoe' };
      const same = { ...message(conversation.id, 1), id: messages.other.id, answer: 'mine' };
      assert.equal((await post(one.keys.writer, conversation, same)).status, 200);
      const path = `/v1/messages?conversation_id=${other.ids.conversation}`;
      const theirs = await service.ask('GET', path, { key: other.keys.app });
      assert.equal(theirs.body.data[0].answer, 'a');
    });
  });

  describe('keys that do not open', () => {
    const workspace_id = one.ids.workspace;
    const dead = (name: string, more: object) =>
      kinds.map((kind) => {
        const reach = kind === 'admin' ? {} : { workspace_id };
        const app = kind === 'app' || kind === 'writer' ? { app_id: one.ids.app } : {};
        return { record: 'api_key', kind, ...reach, ...app, name, secret: makeSecret(kind), ...more };
      });
    const revoked = dead('revoked', { revoked_at: 1 });
    const expired = dead('expired', { expires_at: 1 });
    const both = dead('both', { expires_at: 1, revoked_at: 1 });
    before(() => service.load([...revoked, ...expired, ...both]));

    const right: Record<KeyKind, string> = {
      app: one.keys.app,
      knowledge: one.keys.knowledge,
      writer: one.keys.writer,
      admin,
    };
    const models = '/v1/workspaces/current/models/model-types/llm';
    const operations: Record<string, { method: string; path: string; ask: Ask; opens: readonly KeyKind[] }> = {
      'GET /messages': {
        method: 'GET',
        path: `/v1/messages?conversation_id=${one.ids.conversation}`,
        ask: {},
        opens: ['app'],
      },
      'GET /messages without parameters': { method: 'GET', path: '/v1/messages', ask: {}, opens: ['app'] },
      'GET chunk': { method: 'GET', path: one.chunkPath, ask: {}, opens: ['knowledge'] },
      'PATCH chunk': { method: 'PATCH', path: one.chunkPath, ask: { body: { content: 'x' } }, opens: ['knowledge'] },
      'PATCH chunk with no content type': {
        method: 'PATCH',
        path: one.chunkPath,
        ask: { body: '{' },
        opens: ['knowledge'],
      },
      'PATCH chunk that exists nowhere': {
        method: 'PATCH',
        path: chunkPath({ ...one.ids, dataset: randomUUID() }),
        ask: { body: { content: ' ' }, headers: { 'if-match': '"x"' } },
        opens: ['knowledge'],
      },
      'GET models': { method: 'GET', path: models, ask: {}, opens: ['app', 'knowledge'] },
      'GET models of no type': { method: 'GET', path: `${models}x`, ask: {}, opens: ['app', 'knowledge'] },
      'GET /admin/records': { method: 'GET', path: '/admin/records', ask: {}, opens: ['admin'] },
      'POST /admin/records': {
        method: 'POST',
        path: '/admin/records',
        ask: { headers: records, body: ndjson([{ record: 'workspace', id: randomUUID(), name: 'never' }]) },
        opens: ['admin', 'writer'],
      },
      'POST /admin/records with no content type': {
        method: 'POST',
        path: '/admin/records',
        ask: { body: 'x' },
        opens: ['admin', 'writer'],
      },
      'GET /metrics': { method: 'GET', path: '/metrics', ask: {}, opens: ['admin'] },
    };

    /** Every Authorization header that does not open the operation. */
    function headersRefused(path: string, opens: readonly KeyKind[]): [string, string | undefined][] {
      const good = right[opens[0] ?? 'app'];
      const digest = '0123456789abcdef'.repeat(4);
      return [
        // It opens /metrics alone.
        ...(path === '/metrics' ? [] : [['the metrics token', `Bearer ${metricsToken}`] as [string, string]]),
        ['missing', undefined],
        ['empty', ''],
        ['scheme alone', 'Bearer'],
        ['scheme and space', 'Bearer '],
        ['no scheme', good],
        ['another scheme', `Basic ${good}`],
        ['a scheme that starts alike', `Bearers ${good}`],
        ['no space', `Bearer${good}`],
        ['two keys', `Bearer ${good} ${good}`],
        ['two keys with a comma', `Bearer ${good},${good}`],
        ['in quotes', `Bearer "${good}"`],
        ['not ASCII', `Bearer ${good}\u00e9`],
        ['cut off', `Bearer ${good.slice(0, -1)}`],
        ['too long', `Bearer ${good}A`],
        ['in capitals', `Bearer ${good.toUpperCase()}`],
        ['a digest', `Bearer ${digest}`],
        ['very long', `Bearer ${'a'.repeat(4000)}`],
        ...kinds.map((kind): [string, string] => [`unknown ${kind}`, `Bearer ${makeSecret(kind)}`]),
        ...[...revoked, ...expired, ...both].map(({ name, kind, secret }): [string, string] => [
          `${name} ${kind}`,
          `Bearer ${secret}`,
        ]),
        ...kinds
          .filter((kind) => !opens.includes(kind))
          .map((kind): [string, string] => [`of kind ${kind}`, `Bearer ${right[kind]}`]),
      ];
    }

    let address = 1;
    for (const [operation, { method, path, ask, opens }] of Object.entries(operations)) {
      // Failed keys are counted by address; each operation fails from its own.
      const from = `127.0.0.${++address}`;
      const send = (authorization: string | undefined, how = method) =>
        service.ask(how, path, {
          ...ask,
          from,
          headers: {
            ...(typeof ask.body === 'object' && { 'content-type': 'application/json' }),
            ...ask.headers,
            ...(authorization !== undefined && { authorization }),
          },
        });

      it(`401: ${operation}: whatever is wrong with a key, the answer is the same`, async () => {
        const before = await everything();
        const seen = new Map<string, string[]>();
        for (const [name, header] of headersRefused(path, opens)) {
          const answer = await send(header);
          assert.equal(answer.status, 401, `${name}: ${answer.text}`);
          assert.equal(answer.body.code, 'unauthorized');
          assert.equal(answer.headers['www-authenticate'], 'Bearer realm="api"');
          const shown = JSON.stringify(visible(answer));
          seen.set(shown, [...(seen.get(shown) ?? []), name]);
        }
        assert.equal(seen.size, 1, `told apart: ${JSON.stringify([...seen])}`);
        assert.equal(await everything(), before, 'nothing was written');
      });

      if (method === 'GET') {
        it(`401: HEAD of ${operation}: the same, without a body`, async () => {
          const seen = new Set<string>();
          for (const [, header] of headersRefused(path, opens)) {
            const answer = await send(header, 'HEAD');
            assert.equal(answer.status, 401);
            assert.equal(answer.text, '');
            seen.add(JSON.stringify(visible(answer)));
          }
          assert.equal(seen.size, 1, [...seen].join('\n'));
        });
      }

      it(`not 401: ${operation}: the right kinds open it, with the scheme in any letter case`, async () => {
        for (const kind of opens) {
          for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR']) {
            // A HEAD or a question with an error behind the key shows as well that the key was taken.
            const answer = await send(`${scheme} ${right[kind]}`, method === 'GET' ? 'HEAD' : method);
            assert.notEqual(answer.status, 401, `${kind} ${scheme}`);
          }
        }
      });
    }

    it('401: the same body and headers on every operation', async () => {
      const seen = new Set<string>();
      for (const { method, path, ask } of Object.values(operations)) {
        const answer = await service.ask(method, path, ask);
        assert.equal(answer.status, 401);
        // Whether the connection stays open may hang on the request's body.
        const { connection: _, 'keep-alive': __, ...headers } = answer.headers;
        seen.add(JSON.stringify(visible({ ...answer, headers })));
      }
      assert.equal(seen.size, 1, [...seen].join('\n'));
    });

    it('200: the metrics token opens /metrics', async () => {
      const { status, text } = await service.ask('GET', '/metrics', { key: metricsToken });
      assert.equal(status, 200);
      assert.match(text, /^# HELP /m);
      for (const id of [...Object.values(one.ids), ...Object.values(other.ids)]) assert.ok(!text.includes(id));
    });

    it('no secret shows in the export, the metrics or the log', async () => {
      const metrics = await service.ask('GET', '/metrics', { key: admin });
      const shown = [await everything(), metrics.text, ...service.logs].join('\n');
      const secrets = [
        ...Object.values(one.keys),
        ...Object.values(other.keys),
        ...Object.values(second.keys),
        ...[...revoked, ...expired, ...both].map(({ secret }) => secret),
        batch.key,
        restricted,
        admin,
        metricsToken,
      ];
      for (const secret of secrets) assert.ok(!shown.includes(secret));
    });
  });
});
