import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { type KeyKind, keyKinds } from '../../src/contract/key-kinds.ts';
import { allows, operationRoles } from '../../src/contract/people/roles.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import {
  type ChunkIds,
  chunkPath,
  engines,
  message,
  onEveryEngine,
  pluck,
  type TestResponse,
  useService,
} from '../support/harness.ts';
import { kinds, makeCallers, makeIsolationFixture, provider, visibleParts } from '../support/isolation-fixture.ts';
import { makeRows, operations, requireRow, type Target, type TestRequest } from '../support/isolation-matrix.ts';
import { isLong, itLong, shortOrLong } from '../support/long.ts';

const metricsToken = 'scrape-me-3f9a.b_c~d+e/f=';

/** A valid key of the wrong kind is told so, and nothing else. */
const wrongKind = (allowedKinds: readonly KeyKind[], kind: KeyKind) => {
  const required = keyKinds.filter((one) => allowedKinds.includes(one)).join(' or ');
  const message = `a key of kind ${required} is required; this key is of kind ${kind}`;
  return { status: 401, code: 'unauthorized', message };
};

/** OpenAI clients read errors of another shape. */
const errorOf = ({ status, body }: TestResponse) =>
  body.error === undefined ? body : { status, code: body.error.code, message: body.error.message };

onEveryEngine('isolation', (engine) => {
  const fixture = makeIsolationFixture();
  const {
    one,
    other,
    second,
    completion,
    ownConversations,
    outside,
    sibling,
    restricted,
    admin,
    readOnly,
    messages,
    inactiveKeys,
  } = fixture;
  const rows = makeRows(fixture);
  /** How a request is read is decided apart from the engine, so in `npm test` variants of it run on the first one only. */
  const isWhole = isLong || engine === engines[0];
  /** Of the keys that allow nothing, those that an engine decides. The last suite tries all that do not allow an operation. */
  const invalidCallers = isWhole ? [] : ['revoked app', 'expired app', 'unknown app'];

  const service = useService(engine, fixture.records, { METRICS_TOKEN: metricsToken });

  /** All stored data, as an admin exports it. */
  async function exportAll(): Promise<string> {
    const { status, text } = await service.as(admin).get('/admin/records');
    assert.equal(status, 200);
    return text;
  }

  /** Asserts that the response for a foreign id is the same as for an id that does not exist. */
  async function assertSameAsMissing(
    send: (id: string) => Promise<TestResponse>,
    foreignId: string,
    status: number,
  ): Promise<TestResponse> {
    const [response, missing] = [await send(foreignId), await send(randomUUID())];
    assert.equal(response.status, status, response.text);
    assert.deepEqual(visibleParts(response), visibleParts(missing));
    assert.ok(!response.text.includes(foreignId), 'a foreign id is not repeated');
    return response;
  }

  describe('every operation and every caller', () => {
    const callers = makeCallers(fixture);
    const foreignIds = [fixture.one, fixture.other].flatMap(({ ids, keyIds }) => [
      ...Object.values(ids),
      ...Object.values(keyIds),
    ]);
    let address = 0;
    const isVisible = ({ visibleTo }: Target, caller: string) => visibleTo === 'everyone' || visibleTo.includes(caller);

    it('every operation of the OpenAPI document has a row, and there is no other row', () => {
      for (const { name } of operations) requireRow(rows, name);
      assert.deepEqual(Object.keys(rows).sort(), operations.map(({ name }) => name).sort());
    });

    let untouched: string;
    before(async () => {
      untouched = await exportAll();
    });

    for (const { name, allowedKinds } of operations) {
      for (const [index, target] of (rows[name]?.targets ?? []).entries()) {
        it(`40x: ${name}: ${target.name}`, async () => {
          // Failed keys are counted per address.
          const from = `127.0.1.${++address}`;
          const send = ({ method, path, ...rest }: TestRequest, key: string | undefined, override = method) =>
            service.request(override, path, { ...rest, key, from });
          const isAllowed = (kind: KeyKind | undefined) =>
            allowedKinds.length === 0 || (kind && allowedKinds.includes(kind));
          // HEAD is answered by the handler of GET; a test below tries it once.
          const methods = name.startsWith('GET ') && isLong ? ['GET', 'HEAD'] : [undefined];
          // A key is checked before the path, so callers whose keys do not allow the operation try its first target only.
          const isTried = (caller: string, kind: KeyKind | undefined) =>
            isLong || isAllowed(kind) || (index === 0 && invalidCallers.includes(caller));
          for (const method of methods) {
            const unauthorized = await send(target.request(), undefined, method);
            for (const [caller, { key, kind }] of Object.entries(callers)) {
              if (isVisible(target, caller) || !isTried(caller, kind)) continue;
              const response = await send(target.request(), key, method);
              assert.ok(!foreignIds.some((id) => response.text.includes(id)), `${caller}: ${response.text}`);
              if (isAllowed(kind)) {
                const missing = await send(target.missing?.() ?? assert.fail(`${caller} must see it`), key, method);
                assert.ok(response.status === 404 || response.status === 400, `${caller}: ${response.status}`);
                assert.deepEqual(visibleParts(response), visibleParts(missing), caller);
              } else {
                assert.equal(response.status, 401, caller);
                if (kind === undefined) assert.deepEqual(visibleParts(response), visibleParts(unauthorized), caller);
                else if (method !== 'HEAD') assert.deepEqual(errorOf(response), wrongKind(allowedKinds, kind), caller);
              }
            }
          }
        });
      }
    }

    // Whether a key may write is decided directly after the key, before the path and the body.
    for (const [kind, key] of Object.entries(readOnly)) {
      it(`403: a read-only ${kind} key reads what such a key reads, and writes nothing`, async () => {
        const message = 'this key is read-only';
        const ofKind = operations.filter(({ allowedKinds }) => allowedKinds.includes(kind as KeyKind));
        assert.ok(ofKind.length > 10);
        for (const { name } of ofKind) {
          const { targets, invalid = {} } = requireRow(rows, name);
          const isPurge = name === 'POST /admin/purge';
          for (const makeRequest of [
            ...targets.map(({ request }) => request),
            ...(isPurge ? [] : Object.values(invalid)),
          ]) {
            const { method, path, ...rest } = makeRequest();
            // A count of what would be erased is a read.
            const body = isPurge ? { ...Object(rest.body), dry_run: false } : rest.body;
            const response = await service.request(method, path, { ...rest, body, key });
            if (method === 'GET') assert.notEqual(response.status, 403, name);
            else assert.deepEqual(errorOf(response), { status: 403, code: 'forbidden', message }, name);
          }
        }
      });
    }

    it('every operation that an admin key allows has a role, and no other one has', () => {
      const ofAdmins = operations.filter(({ allowedKinds }) => allowedKinds.includes('admin'));
      const described = Object.fromEntries(ofAdmins.map(({ id, role }) => [id, role]));
      assert.deepEqual({ ...described, getSession: 'viewer' }, operationRoles);
      assert.ok(operations.every(({ role, allowedKinds }) => allowedKinds.includes('admin') || role === undefined));
    });

    it('none of these requests has written anything', async () => assert.equal(await exportAll(), untouched));

    // A role is checked before any engine is asked.
    for (const own of isWhole ? (['viewer', 'editor'] as const) : []) {
      it(`403: the role ${own} allows what it says, and a refusal names the role`, async () => {
        for (const { name, id, role } of operations.filter((one) => one.allowedKinds.includes('admin'))) {
          for (const target of requireRow(rows, name).targets) {
            const { method, path, ...rest } = target.request();
            const response = await service.request(method, path, { ...rest, key: fixture.byRole[own] });
            const refusal = { status: 403, code: 'forbidden', message: `this operation needs the role ${role}` };
            if (!allows(own, id)) assert.deepEqual(response.body, refusal, name);
            else if (target.visibleTo.includes('admin'))
              assert.match(String(response.status), /^20[04]$/, `${name} ${response.text}`);
            else assert.equal(response.status, 404, name);
          }
        }
      });
    }

    for (const { name } of operations) {
      it(`20x: ${name}: every caller that may`, async () => {
        for (const target of rows[name]?.targets ?? []) {
          for (const [caller, { key }] of Object.entries(callers)) {
            if (!isVisible(target, caller)) continue;
            const { method, path, ...rest } = target.request();
            const { status } = await service.request(method, path, { ...rest, key });
            assert.match(String(status), /^20[014]$/, `${target.name}: ${caller}`);
          }
        }
      });
    }
  });

  describe('GET /messages', () => {
    const getPage = (key: string, query: Record<string, string>, headers: Record<string, string> = {}) =>
      service.as(key).get(`/v1/messages?${new URLSearchParams(query)}`, headers);

    const [oldest, , newest] = messages.one;
    assert.ok(oldest && newest);

    it('404: a first_id reveals nothing about a foreign conversation', async () => {
      for (const conversation_id of [other.ids.conversation, second.conversation, ownConversations.deleted]) {
        for (const first_id of [messages.other.id, messages.second.id, messages.deleted.id, newest.id, randomUUID()]) {
          const query = (id: string) => getPage(one.keys.app, { conversation_id: id, first_id });
          const { body } = await assertSameAsMissing(query, conversation_id, 404);
          assert.equal(body.message, 'conversation not exists');
        }
      }
    });

    it('404: If-None-Match with its ETag or * reveals nothing about a foreign conversation', async () => {
      const page = await getPage(other.keys.app, { conversation_id: other.ids.conversation });
      for (const etag of ['*', page.headers.etag ?? assert.fail('no ETag')]) {
        const query = (id: string) => getPage(one.keys.app, { conversation_id: id }, { 'if-none-match': etag });
        await assertSameAsMissing(query, other.ids.conversation, 404);
      }
    });

    it('404: the letter case of a foreign id makes no difference', async () => {
      const query = (id: string) => getPage(one.keys.app, { conversation_id: id.toUpperCase() });
      await assertSameAsMissing(query, other.ids.conversation, 404);
    });

    it('400: an app that is not a chat app learns nothing about any conversation', async () => {
      for (const id of [completion.conversation, one.ids.conversation, other.ids.conversation]) {
        const response = await assertSameAsMissing(
          (conversation_id) => getPage(completion.key, { conversation_id }),
          id,
          400,
        );
        assert.equal(response.body.code, 'not_chat_app');
      }
    });

    it('200: a page contains nothing of another conversation, from any cursor', async () => {
      const conversation_id = one.ids.conversation;
      const fullPage = await getPage(one.keys.app, { conversation_id, limit: '100' });
      assert.deepEqual(pluck(fullPage.body.data, 'id'), messages.one.map(({ id }) => id).reverse());
      const emptyPage = await getPage(one.keys.app, { conversation_id, first_id: oldest.id });
      assert.deepEqual(emptyPage.body.data, []);
    });

    it('404: HEAD reveals no more than GET', async () => {
      const head = (id: string) => service.request('HEAD', `/v1/messages?conversation_id=${id}`, { key: one.keys.app });
      for (const id of [other.ids.conversation, second.conversation, ownConversations.deleted])
        await assertSameAsMissing(head, id, 404);
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
    /** The valid chunk paths, by the key that allows them. */
    const reach: Record<string, { key: string; branches: ChunkIds[] }> = {
      'the first workspace': { key: one.keys.knowledge, branches: [own, branches.sibling, outside.ids] },
      'the restricted key': { key: restricted, branches: [own, branches.sibling] },
      'the other workspace': { key: other.keys.knowledge, branches: [branches.foreign] },
    };
    const parts = ['dataset', 'document', 'segment', 'chunk'] as const;
    const partNames = { dataset: 'dataset', document: 'document', segment: 'segment', chunk: 'child chunk' };

    /** The first part of the path that does not exist for the key, computed from the contract. */
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

    it('200 or 404: for any mix of parts, the response names the first part that fails', async () => {
      const choices = [...Object.keys(branches), 'missing', 'no uuid'] as const;
      const pick = fc.constantFrom(...choices);
      const idOf = (choice: string, part: (typeof parts)[number]): string =>
        choice === 'missing' ? randomUUID() : (branches[choice as keyof typeof branches]?.[part] ?? 'no-uuid');
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
            const sentIds = upper
              ? { ...ids, dataset: ids.dataset.toUpperCase(), chunk: ids.chunk.toUpperCase() }
              : ids;
            const failing = firstFailing(ids, paths);
            const response = await send(method, sentIds, key);
            if (failing === undefined) return assert.equal(response.status, 200, response.text);
            const message = `${partNames[failing]} not found`;
            assert.deepEqual(response.body, { status: 404, code: 'not_found', message });
          },
        ),
        { numRuns: shortOrLong(isWhole ? 25 : 8, 5_000) },
      );
    });
  });

  describe('models', () => {
    const path = '/v1/workspaces/current/models/model-types/llm';
    it('200: no header or parameter selects another workspace', async () => {
      const plain = await service.as(one.keys.app).get(path);
      const { workspace } = other.ids;
      const headers = { 'x-tenant-id': workspace, 'x-workspace-id': workspace, cookie: `workspace=${workspace}` };
      const query = `?tenant_id=${workspace}&workspace_id=${workspace}`;
      const response = await service.as(one.keys.app).get(path + query, headers);
      assert.deepEqual(visibleParts(response), visibleParts(plain));
    });
  });

  describe('POST /admin/records by a writer', () => {
    const post = (key: string, ...lines: object[]) => service.as(key).append(...lines);
    const writers = {
      'the first app': { key: one.keys.writer, app: one.ids.app },
      'the second app': { key: second.keys.writer, app: second.app },
      'the other workspace': { key: other.keys.writer, app: other.ids.app },
    };
    const conversationOf: Record<string, string> = {
      [one.ids.app]: one.ids.conversation,
      [second.app]: second.conversation,
      [other.ids.app]: other.ids.conversation,
      [completion.app]: completion.conversation,
    };

    for (const [writer, { key, app }] of Object.entries(writers)) {
      it(`400: ${writer}: for an existing foreign message, its conversation does not exist`, async () => {
        const before = await exportAll();
        for (const foreignMessage of [messages.one[0], messages.second, messages.other]) {
          assert.ok(foreignMessage);
          if (foreignMessage.conversation_id === conversationOf[app]) continue;
          const overwrite = (conversation_id: string) =>
            post(key, { ...foreignMessage, conversation_id, answer: 'forged' });
          await assertSameAsMissing(overwrite, foreignMessage.conversation_id, 400);
        }
        assert.equal(await exportAll(), before, 'nothing was written');
      });

      it(`400: ${writer} cannot take over a foreign conversation`, async () => {
        const before = await exportAll();
        for (const [owner, id] of Object.entries(conversationOf)) {
          if (owner === app) continue;
          const response = await post(key, { record: 'conversation', id, app_id: app }, message(id, 1));
          assert.equal(response.status, 400);
          for (const secret of [owner, one.ids.workspace, other.ids.workspace]) {
            assert.ok(!response.text.includes(secret), 'the owner is not revealed');
          }
        }
        assert.equal(await exportAll(), before, 'nothing was written');
      });

      it(`400: ${writer} learns only that the id of a foreign conversation is in use`, async () => {
        const usedIds = {
          [second.app]: second.conversation,
          [completion.app]: completion.conversation,
          ...conversationOf,
        };
        const seen = new Set<string>();
        const claim = (id: string, more: object = {}) =>
          post(key, { record: 'conversation', id, app_id: app, ...more });
        const foreign = Object.entries({ ...usedIds, [one.ids.app]: ownConversations.deleted }).filter(
          ([owner]) => owner !== app,
        );
        for (const [, id] of foreign) {
          for (const more of [{}, { user: 'ann' }, { user: 'bob', deleted: true }, { created_at: 1 }]) {
            seen.add(JSON.stringify(visibleParts(await claim(id, more))));
          }
          seen.add(JSON.stringify(visibleParts(await claim(id.toUpperCase()))));
        }
        assert.equal(seen.size, 1, [...seen].join('\n'));
        assert.match([...seen].join(), /line 1: conversation: app_id may not change/);
      });

      // Rejected by its kind, before any record is looked up.
      const isKindTried = isLong || (isWhole && key === one.keys.writer);
      const title = `400: ${writer}: every other kind of record is rejected the same way, whatever it names`;
      const itIfTried = isKindTried ? it : itLong;
      itIfTried(title, async () => {
        const before = await exportAll();
        const forbiddenRecords: ((id: string) => object)[] = [
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
        for (const makeRecord of forbiddenRecords) {
          const missing = await post(key, makeRecord(randomUUID()));
          assert.equal(missing.status, 400, missing.text);
          for (const id of existing)
            assert.deepEqual(visibleParts(await post(key, makeRecord(id))), visibleParts(missing));
        }
        assert.equal(await exportAll(), before, 'nothing was written');
      });
    }

    it('400: a batch with one foreign message writes nothing', async () => {
      const before = await exportAll();
      const good = message(one.ids.conversation, 9);
      const response = await post(one.keys.writer, good, message(other.ids.conversation, 9));
      assert.equal(response.status, 400);
      assert.match(response.body.message, /^line 2: message: conversation_id /);
      assert.equal(await exportAll(), before);
    });

    it('200: a message id used in another conversation can be used in this one', async () => {
      const conversation = { record: 'conversation', id: randomUUID(), app_id: one.ids.app, user: 'zoe' };
      const same = { ...message(conversation.id, 1), id: messages.other.id, answer: 'own' };
      assert.equal((await post(one.keys.writer, conversation, same)).status, 200);
      const path = `/v1/messages?conversation_id=${other.ids.conversation}`;
      const otherPage = await service.as(other.keys.app).get(path);
      assert.equal(otherPage.body.data[0].answer, 'a');
    });
  });

  describe('keys that do not allow an operation', () => {
    const validKeys: Record<KeyKind, string> = {
      app: one.keys.app,
      knowledge: one.keys.knowledge,
      writer: one.keys.writer,
      feed: one.keys.feed,
      admin,
    };
    /** Requests to every operation that requires a key: one that succeeds, and ones that fail after the key check. */
    const requests = operations
      .filter(({ allowedKinds }) => allowedKinds.length > 0)
      .flatMap(({ name, allowedKinds }) => {
        const { targets, invalid = {} } = requireRow(rows, name);
        const all = [
          ...targets.slice(0, 1).map((target) => [name, target.request] as const),
          ...Object.entries(invalid),
        ];
        return all.map(([title, makeRequest]) => ({ title, makeRequest, allowedKinds }));
      });

    /** Keys that do not allow the operation. How a key is written is tested in `keys.test.ts`. */
    function rejectedKeys(path: string, allowedKinds: readonly KeyKind[]): [string, string | undefined][] {
      return [
        // The metrics token allows /metrics only.
        ...(path === '/metrics' ? [] : [['the metrics token', metricsToken] as [string, string]]),
        ['missing', undefined],
        ...kinds.map((kind): [string, string] => [`unknown ${kind}`, makeSecret(kind)]),
        ...inactiveKeys.map(({ name, kind, secret }): [string, string] => [`${name} ${kind}`, secret]),
        ...kinds
          .filter((kind) => !allowedKinds.includes(kind))
          .map((kind): [string, string] => [`of kind ${kind}`, validKeys[kind]]),
      ];
    }

    let address = 1;
    // Which kind is allowed is decided before any engine; keys that are no longer valid are tried above, on every engine.
    const attempts = (isWhole ? requests : []).map(({ makeRequest, ...rest }) => {
      const { method, path, ...parts } = makeRequest();
      // Failed keys are counted per address, so each operation uses its own.
      const from = `127.0.0.${++address}`;
      const send = (key: string | undefined, override = method) =>
        service.request(override, path, { ...parts, from, key });
      return { ...rest, method, path, send };
    });
    let untouched: string;
    before(async () => {
      untouched = await exportAll();
    });

    for (const { title, path, allowedKinds, send } of attempts) {
      const all = rejectedKeys(path, allowedKinds);
      // A key is looked up in the same way for every operation, so in `npm test` one of each set of kinds tries all.
      const isFirst = attempts.find((other) => `${other.allowedKinds}` === `${allowedKinds}`)?.title === title;
      const some = /^missing$|^the metrics token$|^of kind|^revoked app$/;
      const keys = isLong || isFirst ? all : all.filter(([name]) => some.test(name));

      it(`401: ${title}: the response is the same for every kind of invalid key`, async () => {
        const seen = new Map<string, string[]>();
        for (const [name, key] of keys) {
          const response = await send(key);
          assert.equal(response.status, 401, `${name}: ${response.text}`);
          assert.equal(errorOf(response).code, 'unauthorized');
          assert.equal(response.headers['www-authenticate'], 'Bearer realm="api"');
          const kind = keyKinds.find((one) => name === `of kind ${one}`);
          if (kind !== undefined) {
            assert.deepEqual(errorOf(response), wrongKind(allowedKinds, kind));
            continue;
          }
          const shown = JSON.stringify(visibleParts(response));
          seen.set(shown, [...(seen.get(shown) ?? []), name]);
        }
        assert.equal(seen.size, 1, `distinguishable: ${JSON.stringify([...seen])}`);
      });
    }

    it('none of these requests has written anything', async () => assert.equal(await exportAll(), untouched));

    for (const { title, method, allowedKinds, send } of attempts) {
      it(`not 401: ${title}: keys of the right kind allow it`, async () => {
        for (const kind of allowedKinds) {
          // A HEAD, or an error after the key check, also shows that the key was accepted.
          const response = await send(validKeys[kind], method === 'GET' ? 'HEAD' : method);
          assert.notEqual(response.status, 401, kind);
        }
      });
    }

    it('401: body and headers are the same on every operation', async () => {
      const seen = new Set<string>();
      for (const { makeRequest } of requests) {
        const { method, path, ...rest } = makeRequest();
        const response = await service.request(method, path, rest);
        assert.equal(response.status, 401);
        // Whether the connection stays open may depend on the request's body.
        const { connection: _, 'keep-alive': __, 'content-length': ___, ...headers } = response.headers;
        const text = JSON.stringify(errorOf(response));
        seen.add(JSON.stringify(visibleParts({ ...response, headers, text })));
      }
      assert.equal(seen.size, 1, [...seen].join('\n'));
    });

    it('200: the metrics token allows /metrics, and no similar one does', async () => {
      const { status, text } = await service.as(metricsToken).get('/metrics');
      assert.equal(status, 200);
      assert.match(text, /^# HELP /m);
      for (const id of [...Object.values(one.ids), ...Object.values(other.ids)]) assert.ok(!text.includes(id));
      assert.equal((await service.request('HEAD', '/metrics', { key: metricsToken })).status, 200);
      const headers = { authorization: `bearer  ${metricsToken}` };
      assert.equal((await service.request('GET', '/metrics', { headers })).status, 200);
      for (const key of [metricsToken.slice(0, -1), `${metricsToken}x`, metricsToken.toUpperCase()])
        assert.equal((await service.as(key).get('/metrics')).status, 401);
    });

    it('no secret appears in the export, the metrics or the log', async () => {
      const metrics = await service.as(admin).get('/metrics');
      const shown = [await exportAll(), metrics.text, ...service.logs].join('\n');
      const secrets = [
        ...Object.values(one.keys),
        ...Object.values(other.keys),
        ...Object.values(second.keys),
        ...inactiveKeys.map(({ secret }) => secret),
        completion.key,
        restricted,
        admin,
        metricsToken,
      ];
      for (const secret of secrets) assert.ok(!shown.includes(secret));
    });
  });
});
