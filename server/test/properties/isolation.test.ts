import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { KeyKind } from '../../src/contract/record.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import {
  type ChunkIds,
  chunkPath,
  makeTenant,
  message,
  ndjson,
  onEveryEngine,
  type Service,
  shortOrLong,
  startService,
  type TestResponse,
} from '../support/harness.ts';
import { makeRows, operations, type Question, rowOf } from '../support/isolation-matrix.ts';
import { callersOf, kinds, makeDataset, makeScene, provider, visible } from '../support/isolation-scene.ts';

const metricsToken = 'metrics-token-of-this-test';
const records = { 'content-type': 'application/x-ndjson' };

onEveryEngine('isolation', (engine) => {
  let service: Service;
  const scene = makeScene();
  const { one, other, second, batch, mine, outside, sibling, restricted, admin, messages, dead } = scene;
  const rows = makeRows(scene);

  before(async () => {
    service = await startService(engine, { METRICS_TOKEN: metricsToken });
    await service.load(scene.records);
  });
  after(() => service.close());

  /** Everything that is kept, as an admin sees it. */
  async function everything(): Promise<string> {
    const { status, text } = await service.request('GET', '/admin/records', { key: admin });
    assert.equal(status, 200);
    return text;
  }

  /** The same question about a foreign thing and about one that exists nowhere. */
  async function assertAlike(
    ask: (id: string) => Promise<TestResponse>,
    foreign: string,
    status: number,
  ): Promise<TestResponse> {
    const [about, nothing] = [await ask(foreign), await ask(randomUUID())];
    assert.equal(about.status, status, about.text);
    assert.deepEqual(visible(about), visible(nothing));
    assert.ok(!about.text.includes(foreign), 'a foreign id is not repeated');
    return about;
  }

  describe('every operation, every caller', () => {
    const callers = callersOf(scene);
    const foreign = [scene.one, scene.other].flatMap(({ ids, keyIds }) => [
      ...Object.values(ids),
      ...Object.values(keyIds),
    ]);
    let address = 0;

    it('every operation of the OpenAPI document has its row, and no other', () => {
      for (const { name } of operations) rowOf(rows, name);
      assert.deepEqual(Object.keys(rows).sort(), operations.map(({ name }) => name).sort());
    });

    for (const { name, opens } of operations) {
      for (const thing of rows[name]?.things ?? []) {
        it(`${name}: ${thing.name}`, async () => {
          // Failed keys are counted by address.
          const from = `127.0.1.${++address}`;
          const ask = ({ method, path, ...rest }: Question, key: string | undefined, how = method) =>
            service.request(how, path, { ...rest, key, from });
          const isOpenTo = (kind: KeyKind | undefined) => opens.length === 0 || (kind && opens.includes(kind));
          const sees = (caller: string) => thing.seenBy === 'everybody' || thing.seenBy.includes(caller);
          const methods = name.startsWith('GET ') ? ['GET', 'HEAD'] : [undefined];
          const before = await everything();
          for (const how of methods) {
            const refusal = await ask(thing.about(), undefined, how);
            for (const [caller, { key, kind }] of Object.entries(callers)) {
              if (sees(caller)) continue;
              const response = await ask(thing.about(), key, how);
              assert.ok(!foreign.some((id) => response.text.includes(id)), `${caller}: ${response.text}`);
              if (isOpenTo(kind)) {
                const nothing = await ask(thing.nowhere?.() ?? assert.fail(`${caller} is to see all of it`), key, how);
                assert.ok(response.status === 404 || response.status === 400, `${caller}: ${response.status}`);
                assert.deepEqual(visible(response), visible(nothing), caller);
              } else {
                assert.equal(response.status, 401, caller);
                assert.deepEqual(visible(response), visible(refusal), caller);
              }
            }
          }
          assert.equal(await everything(), before, 'nothing was written');
          for (const [caller, { key }] of Object.entries(callers)) {
            if (sees(caller)) assert.match(String((await ask(thing.about(), key)).status), /^20[01]$/, caller);
          }
        });
      }
    }
  });

  describe('GET /messages', () => {
    const ask = (key: string, query: Record<string, string>, headers: Record<string, string> = {}) =>
      service.request('GET', `/v1/messages?${new URLSearchParams(query)}`, { key, headers });

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
            const response = await assertAlike(query, conversation.id, 404);
            assert.deepEqual(response.body, { status: 404, code: 'not_found', message: 'conversation not exists' });
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
        const response = await assertAlike(query, id, 404);
        assert.deepEqual(response.body, { status: 404, code: 'not_found', message: 'first message not exists' });
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
        const response = await assertAlike((conversation_id) => ask(batch.key, { conversation_id }), id, 400);
        assert.equal(response.body.code, 'not_chat_app');
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
      const head = (id: string) => service.request('HEAD', `/v1/messages?conversation_id=${id}`, { key: one.keys.app });
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
      service.request(method, chunkPath(ids), {
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
                const response = await assertAlike((any) => send(method, { ...start, [part]: any }, key), id, 404);
                if (method === 'HEAD') continue;
                const message = `${words[part]} not found`;
                assert.deepEqual(response.body, { status: 404, code: 'not_found', message });
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
            const response = await send(method, asked, key);
            if (failing === undefined) return assert.equal(response.status, 200, response.text);
            const message = `${words[failing]} not found`;
            assert.deepEqual(response.body, { status: 404, code: 'not_found', message });
          },
        ),
        { numRuns: shortOrLong(400, 5_000) },
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
        const { status, body } = await service.request('GET', path, { key });
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
        await service.request('GET', path, { key: hidden.keys.app }),
        await service.request('GET', path, { key: empty.keys.app }),
      ];
      assert.equal(about.text, '{"data":[]}');
      assert.deepEqual(visible(about), visible(nothing));
    });

    it('200: no header or parameter leads to another workspace', async () => {
      const plain = await service.request('GET', path, { key: one.keys.app });
      const { workspace } = other.ids;
      const headers = { 'x-tenant-id': workspace, 'x-workspace-id': workspace, cookie: `workspace=${workspace}` };
      const query = `?tenant_id=${workspace}&workspace_id=${workspace}`;
      const response = await service.request('GET', path + query, { key: one.keys.app, headers });
      assert.deepEqual(visible(response), visible(plain));
    });
  });

  describe('POST /admin/records by a writer', () => {
    const post = (key: string, ...lines: object[]) =>
      service.request('POST', '/admin/records', { key, headers: records, body: ndjson(lines) });
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
        const response = await post(key, conversation, message(conversation.id, 1), message(conversation.id, 2));
        assert.deepEqual(response.body, { records: 3 });
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
          const response = await post(key, { record: 'conversation', id, app_id: app }, message(id, 1));
          assert.equal(response.status, 400);
          for (const secret of [owner, one.ids.workspace, other.ids.workspace]) {
            assert.ok(!response.text.includes(secret), 'the owner is not told');
          }
        }
        assert.equal(await everything(), before, 'nothing was written');
      });

      it(`400: ${writer} learns of a foreign conversation that its id is taken, and nothing else`, async () => {
        const taken = { [second.app]: second.conversation, [batch.app]: batch.conversation, ...conversationOf };
        const seen = new Set<string>();
        const claim = (id: string, more: object = {}) =>
          post(key, { record: 'conversation', id, app_id: app, ...more });
        const foreign = Object.entries({ ...taken, [one.ids.app]: mine.deleted }).filter(([owner]) => owner !== app);
        for (const [, id] of foreign) {
          for (const more of [{}, { user: 'ann' }, { user: 'bob', deleted: true }, { created_at: 1 }]) {
            seen.add(JSON.stringify(visible(await claim(id, more))));
          }
          seen.add(JSON.stringify(visible(await claim(id.toUpperCase()))));
        }
        assert.equal(seen.size, 1, [...seen].join('\n'));
        assert.match([...seen].join(), /line 1: conversation: app_id may not change/);
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
      const response = await post(one.keys.writer, good, message(other.ids.conversation, 9));
      assert.equal(response.status, 400);
      assert.match(response.body.message, /^line 2: message: conversation_id /);
      assert.equal(await everything(), before);
    });

    it('200: a message id used in another conversation is free in this one', async () => {
      const conversation = { record: 'conversation', id: randomUUID(), app_id: one.ids.app, user: 'zoe' };
      const same = { ...message(conversation.id, 1), id: messages.other.id, answer: 'mine' };
      assert.equal((await post(one.keys.writer, conversation, same)).status, 200);
      const path = `/v1/messages?conversation_id=${other.ids.conversation}`;
      const theirs = await service.request('GET', path, { key: other.keys.app });
      assert.equal(theirs.body.data[0].answer, 'a');
    });
  });

  describe('keys that do not open', () => {
    const right: Record<KeyKind, string> = {
      app: one.keys.app,
      knowledge: one.keys.knowledge,
      writer: one.keys.writer,
      admin,
    };
    /** Every operation that takes a key, asked about what its keys open, and in ways that fail behind the key. */
    const asked = operations
      .filter(({ opens }) => opens.length > 0)
      .flatMap(({ name, opens }) => {
        const { things, odd = {} } = rowOf(rows, name);
        const all = [...things.slice(0, 1).map((thing) => [name, thing.about] as const), ...Object.entries(odd)];
        return all.map(([title, ask]) => ({ title, ask, opens }));
      });

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
        ...dead.map(({ name, kind, secret }): [string, string] => [`${name} ${kind}`, `Bearer ${secret}`]),
        ...kinds
          .filter((kind) => !opens.includes(kind))
          .map((kind): [string, string] => [`of kind ${kind}`, `Bearer ${right[kind]}`]),
      ];
    }

    let address = 1;
    for (const { title, ask, opens } of asked) {
      const { method, path, ...rest } = ask();
      // Failed keys are counted by address; each operation fails from its own.
      const from = `127.0.0.${++address}`;
      const send = (authorization: string | undefined, how = method) =>
        service.request(how, path, {
          ...rest,
          from,
          headers: {
            ...(typeof rest.body === 'object' && { 'content-type': 'application/json' }),
            ...rest.headers,
            ...(authorization !== undefined && { authorization }),
          },
        });

      it(`401: ${title}: whatever is wrong with a key, the answer is the same`, async () => {
        const before = await everything();
        const seen = new Map<string, string[]>();
        for (const [name, header] of headersRefused(path, opens)) {
          const response = await send(header);
          assert.equal(response.status, 401, `${name}: ${response.text}`);
          assert.equal(response.body.code, 'unauthorized');
          assert.equal(response.headers['www-authenticate'], 'Bearer realm="api"');
          const shown = JSON.stringify(visible(response));
          seen.set(shown, [...(seen.get(shown) ?? []), name]);
        }
        assert.equal(seen.size, 1, `told apart: ${JSON.stringify([...seen])}`);
        assert.equal(await everything(), before, 'nothing was written');
      });

      if (method === 'GET') {
        it(`401: HEAD of ${title}: the same, without a body`, async () => {
          const seen = new Set<string>();
          for (const [, header] of headersRefused(path, opens)) {
            const response = await send(header, 'HEAD');
            assert.equal(response.status, 401);
            assert.equal(response.text, '');
            seen.add(JSON.stringify(visible(response)));
          }
          assert.equal(seen.size, 1, [...seen].join('\n'));
        });
      }

      it(`not 401: ${title}: the right kinds open it, with the scheme in any letter case`, async () => {
        for (const kind of opens) {
          for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR']) {
            // A HEAD or a question with an error behind the key shows as well that the key was taken.
            const response = await send(`${scheme} ${right[kind]}`, method === 'GET' ? 'HEAD' : method);
            assert.notEqual(response.status, 401, `${kind} ${scheme}`);
          }
        }
      });
    }

    it('401: the same body and headers on every operation', async () => {
      const seen = new Set<string>();
      for (const { ask } of asked) {
        const { method, path, ...rest } = ask();
        const response = await service.request(method, path, rest);
        assert.equal(response.status, 401);
        // Whether the connection stays open may hang on the request's body.
        const { connection: _, 'keep-alive': __, ...headers } = response.headers;
        seen.add(JSON.stringify(visible({ ...response, headers })));
      }
      assert.equal(seen.size, 1, [...seen].join('\n'));
    });

    it('200: the metrics token opens /metrics', async () => {
      const { status, text } = await service.request('GET', '/metrics', { key: metricsToken });
      assert.equal(status, 200);
      assert.match(text, /^# HELP /m);
      for (const id of [...Object.values(one.ids), ...Object.values(other.ids)]) assert.ok(!text.includes(id));
    });

    it('no secret shows in the export, the metrics or the log', async () => {
      const metrics = await service.request('GET', '/metrics', { key: admin });
      const shown = [await everything(), metrics.text, ...service.logs].join('\n');
      const secrets = [
        ...Object.values(one.keys),
        ...Object.values(other.keys),
        ...Object.values(second.keys),
        ...dead.map(({ secret }) => secret),
        batch.key,
        restricted,
        admin,
        metricsToken,
      ];
      for (const secret of secrets) assert.ok(!shown.includes(secret));
    });
  });
});
