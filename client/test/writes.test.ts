import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { makeSecret } from '../../server/src/domain/secret.ts';
import { makeTenant, message, type Service, startService } from '../../server/test/support/harness.ts';
import { Backscroll, type Fetch } from '../src/index.ts';

const tenant = makeTenant();
const readOnly = makeSecret('app');
const admin = makeSecret('admin');
const { workspace: workspace_id, app: app_id } = tenant.ids;
const segment = {
  dataset_id: tenant.ids.dataset,
  document_id: tenant.ids.document,
  segment_id: tenant.ids.segment,
};
const user = 'ann';

/** A network that loses the first response after the service has sent it, and counts the requests. */
function losing(): { fetch: Fetch; methods: string[] } {
  const methods: string[] = [];
  const losingFetch: Fetch = async (url, init) => {
    methods.push(init.method ?? '');
    const response = await fetch(url, init);
    if (methods.length > 1) return response;
    await response.arrayBuffer();
    throw new TypeError('the response was lost');
  };
  return { fetch: losingFetch, methods };
}

/** A network that loses the first request before the service gets it. */
function unreachableOnce(): Fetch {
  let requests = 0;
  return async (url, init) => {
    if ((requests += 1) === 1) throw new TypeError('the request was lost');
    return fetch(url, init);
  };
}

/** A network whose first response is an error; later ones are the service's. */
function once(status: number, code: string): Fetch {
  let requests = 0;
  return async (url, init) => {
    if ((requests += 1) > 1) return fetch(url, init);
    return Response.json({ status, code, message: code }, { status, headers: { 'retry-after': '0' } });
  };
}

describe('writes', () => {
  let service: Service;
  before(async () => {
    service = await startService('sqlite');
    const key = { record: 'api_key', kind: 'app', workspace_id, app_id, name: 'read-only', read_only: true };
    const adminKey = { record: 'api_key', kind: 'admin', name: 'admin', secret: admin };
    await service.load([...tenant.records, { ...key, secret: readOnly }, adminKey]);
  });
  after(() => service.close());

  const withKey = (key: string, own: Fetch = fetch) =>
    new Backscroll({ baseUrl: `${service.base}/v1`, key, fetch: own });
  const app = (own?: Fetch) => withKey(tenant.keys.app, own);
  const knowledge = (own?: Fetch) => withKey(tenant.keys.knowledge, own);

  async function newConversation(): Promise<{ conversation_id: string; message_id: string }> {
    const conversation_id = randomUUID();
    const first = message(conversation_id, 2000, { query: 'Which filter fits?' });
    await service.load([{ record: 'conversation', id: conversation_id, app_id, user, created_at: 1000 }, first]);
    return { conversation_id, message_id: first.id };
  }

  const chunkIds = async () => {
    const ids: string[] = [];
    for await (const { id } of knowledge().childChunks(segment)) ids.push(id);
    return ids;
  };

  describe('rename', () => {
    it('sets the name, and derives it again with auto_generate', async () => {
      const { conversation_id } = await newConversation();
      const renamed = await app().rename({ conversation_id, name: 'Filters', user });
      assert.deepEqual([renamed.id, renamed.name], [conversation_id, 'Filters']);
      const derived = await app().rename({ conversation_id, auto_generate: true });
      assert.equal(derived.name, 'Which filter fits?');
    });

    it('is repeated if the response is lost', async () => {
      const { conversation_id } = await newConversation();
      const { fetch, methods } = losing();
      assert.equal((await app(fetch).rename({ conversation_id, name: 'Twice' })).name, 'Twice');
      assert.deepEqual(methods, ['POST', 'POST']);
    });

    it("InvalidParam, NotFound, Forbidden: a blank name, another user's conversation, a read-only key", async () => {
      const { conversation_id } = await newConversation();
      await assert.rejects(app().rename({ conversation_id, name: ' ' }), { name: 'InvalidParam', message: /name/ });
      const foreign = app().rename({ conversation_id, name: 'x', user: 'bob' });
      await assert.rejects(foreign, { name: 'NotFound', message: 'Conversation Not Exists.' });
      const denied = withKey(readOnly).rename({ conversation_id, name: 'x' });
      await assert.rejects(denied, { name: 'Forbidden', status: 403 });
    });
  });

  describe('deleteConversation', () => {
    it('deletes it, and a second call throws NotFound', async () => {
      const { conversation_id } = await newConversation();
      const foreign = app().deleteConversation({ conversation_id, user: 'bob' });
      await assert.rejects(foreign, { name: 'NotFound' });
      assert.equal(await app().deleteConversation({ conversation_id, user }), undefined);
      await assert.rejects(app().listMessages({ conversation_id }), { name: 'NotFound' });
      const second = app().deleteConversation({ conversation_id });
      await assert.rejects(second, { name: 'NotFound', message: 'Conversation Not Exists.' });
    });

    it('succeeds if the response is lost and the retry finds nothing', async () => {
      const { conversation_id } = await newConversation();
      const { fetch, methods } = losing();
      assert.equal(await app(fetch).deleteConversation({ conversation_id, user }), undefined);
      // The last one shows that it is the conversation that does not exist.
      assert.deepEqual(methods, ['DELETE', 'DELETE', 'GET']);
      await assert.rejects(app().listMessages({ conversation_id }), { name: 'NotFound' });
    });

    it('succeeds if the request is lost and the retry deletes it', async () => {
      const { conversation_id } = await newConversation();
      await app(unreachableOnce()).deleteConversation({ conversation_id });
      await assert.rejects(app().listMessages({ conversation_id }), { name: 'NotFound' });
    });

    it('without retries, a lost response is a Connection', async () => {
      const { conversation_id } = await newConversation();
      const call = app(losing().fetch).deleteConversation({ conversation_id }, { retries: 0 });
      await assert.rejects(call, { name: 'Connection' });
    });

    it('a retry that fails for another reason throws', async () => {
      const { conversation_id } = await newConversation();
      const denied = withKey(readOnly, losing().fetch).deleteConversation({ conversation_id });
      await assert.rejects(denied, { name: 'Forbidden' });
      const elsewhere = new Backscroll({
        baseUrl: `${service.base}/other/v1`,
        key: tenant.keys.app,
        fetch: losing().fetch,
      });
      await assert.rejects(elsewhere.deleteConversation({ conversation_id }), { name: 'NotFound' });
      assert.equal((await app().listMessages({ conversation_id })).data.length, 1);
    });
  });

  describe('feedback', () => {
    const ratingOf = async (conversation_id: string) =>
      (await app().listMessages({ conversation_id })).data[0]?.feedback?.rating;

    it('rates a message, and null removes the rating', async () => {
      const { conversation_id, message_id } = await newConversation();
      assert.equal(await app().feedback({ message_id, rating: 'like', content: 'It fits.', user }), undefined);
      assert.equal(await ratingOf(conversation_id), 'like');
      await app().feedback({ message_id, rating: 'dislike', user });
      assert.equal(await ratingOf(conversation_id), 'dislike');
      await app().feedback({ message_id, rating: null, user });
      assert.equal(await ratingOf(conversation_id), undefined);
    });

    it('is repeated if the response is lost', async () => {
      const { conversation_id, message_id } = await newConversation();
      const { fetch, methods } = losing();
      await app(fetch).feedback({ message_id, rating: 'like', user });
      assert.equal(await ratingOf(conversation_id), 'like');
      assert.deepEqual(methods, ['POST', 'POST']);
    });

    it('null succeeds if the response is lost and the retry finds no rating', async () => {
      const { conversation_id, message_id } = await newConversation();
      await app().feedback({ message_id, rating: 'like', user });
      const { fetch, methods } = losing();
      await app(fetch).feedback({ message_id, rating: null, user });
      assert.equal(await ratingOf(conversation_id), undefined);
      assert.deepEqual(methods, ['POST', 'POST', 'POST'], 'the last one finds that the fields are valid');
    });

    it('InvalidParam, NotFound: nothing to remove, an invalid retry, an unknown message', async () => {
      const { message_id } = await newConversation();
      const nothing = app().feedback({ message_id, rating: null, user });
      await assert.rejects(nothing, { name: 'InvalidParam', message: /rating is null/ });
      const invalid = app(losing().fetch).feedback({ message_id, rating: null, user: '' });
      await assert.rejects(invalid, { name: 'InvalidParam', message: /user/ });
      const unknown = app().feedback({ message_id: randomUUID(), rating: 'like', user });
      await assert.rejects(unknown, { name: 'NotFound', message: 'Message Not Exists.' });
    });
  });

  describe('createChildChunk', () => {
    it('adds a chunk at the end of the segment, with the ETag of its text', async () => {
      const before = await chunkIds();
      const created = await knowledge().createChildChunk({ ...segment, content: 'A new chunk.' });
      assert.deepEqual([created.content, created.type, created.word_count], ['A new chunk.', 'customized', 3]);
      assert.deepEqual(await chunkIds(), [...before, created.id]);
      assert.deepEqual(await knowledge().getChildChunk({ ...segment, child_chunk_id: created.id }), created);
    });

    it('is never repeated: after a lost response, a lost request, 429, 502 and 503', async () => {
      const before = await chunkIds();
      const { fetch: losingFetch, methods } = losing();
      const call = knowledge(losingFetch).createChildChunk({ ...segment, content: 'Once.' });
      await assert.rejects(call, { name: 'Connection' });
      assert.deepEqual(methods, ['POST']);
      assert.equal((await chunkIds()).length, before.length + 1);

      const responses: [Fetch, string][] = [
        [unreachableOnce(), 'Connection'],
        [once(429, 'too_many_requests'), 'TooManyRequests'],
        [once(502, 'bad_gateway'), 'BadGateway'],
        [once(503, 'service_unavailable'), 'ServiceUnavailable'],
      ];
      for (const [fetch, name] of responses) {
        const call = knowledge(fetch).createChildChunk(
          { ...segment, content: 'Never.' },
          // The compiler rejects it; a program without types must not get a second chunk either.
          { retries: 5 } as object,
        );
        await assert.rejects(call, { name });
      }
      assert.equal((await chunkIds()).length, before.length + 1);
    });

    it('InvalidParam, NotFound: a blank text, an unknown segment', async () => {
      const blank = knowledge().createChildChunk({ ...segment, content: ' ' });
      await assert.rejects(blank, { name: 'InvalidParam', message: /content/ });
      const unknown = knowledge().createChildChunk({ ...segment, segment_id: randomUUID(), content: 'x' });
      await assert.rejects(unknown, { name: 'NotFound', message: 'segment not found' });
    });
  });

  describe('deleteMessage', () => {
    const writer = (own?: Fetch) => withKey(tenant.keys.writer, own);

    it('erases it, and a second call throws NotFound', async () => {
      const path = { app_id, ...(await newConversation()) };
      assert.equal(await writer().deleteMessage(path), undefined);
      assert.deepEqual((await app().listMessages({ conversation_id: path.conversation_id })).data, []);
      await assert.rejects(writer().deleteMessage(path), { name: 'NotFound', message: 'message not exists' });
    });

    it('succeeds if the response is lost and the retry finds nothing', async () => {
      const { fetch, methods } = losing();
      await writer(fetch).deleteMessage({ app_id, ...(await newConversation()) });
      // The last one shows that the path exists.
      assert.deepEqual(methods, ['DELETE', 'DELETE', 'GET']);
    });
  });

  describe('purge', () => {
    const asAdmin = (own?: Fetch) => withKey(admin, own);

    it('counts with dry_run, then erases', async () => {
      const { conversation_id } = await newConversation();
      const counts = { conversations: 1, messages: 1, held: 0, copies: [] };
      assert.deepEqual(await asAdmin().purge({ conversation_id, dry_run: true }), { ...counts, audit_id: null });
      const { audit_id, ...erased } = await asAdmin().purge({ conversation_id });
      assert.deepEqual([erased, typeof audit_id], [counts, 'string']);
      await assert.rejects(asAdmin().purge({ conversation_id }), { name: 'NotFound' });
      const none = { conversations: 0, messages: 0, held: 0, audit_id: null, copies: [] };
      assert.deepEqual(await asAdmin().purge({ app_id, user: 'nobody' }), none);
    });

    it('Connection: is never sent twice', async () => {
      const { fetch, methods } = losing();
      const { conversation_id } = await newConversation();
      await assert.rejects(asAdmin(fetch).purge({ conversation_id }), { name: 'Connection' });
      assert.deepEqual(methods, ['POST']);
    });
  });

  describe('deleteChildChunk', () => {
    async function newChunk() {
      const { id, etag } = await knowledge().createChildChunk({ ...segment, content: 'To delete.' });
      return { path: { ...segment, child_chunk_id: id }, etag };
    }

    it('deletes it, and a second call throws NotFound', async () => {
      const { path } = await newChunk();
      assert.equal(await knowledge().deleteChildChunk(path), undefined);
      assert.ok(!(await chunkIds()).includes(path.child_chunk_id));
      const second = knowledge().deleteChildChunk(path);
      await assert.rejects(second, { name: 'NotFound', message: 'child chunk not found' });
    });

    it('with ifMatch it deletes only the text that was read', async () => {
      const { path, etag } = await newChunk();
      const edited = await knowledge().updateChildChunk({ ...path, content: 'Edited.' });
      const stale = knowledge().deleteChildChunk(path, { ifMatch: etag });
      await assert.rejects(stale, { name: 'PreconditionFailed', status: 412 });
      await knowledge().deleteChildChunk(path, { ifMatch: edited.etag });
      await assert.rejects(knowledge().getChildChunk(path), { name: 'NotFound' });
    });

    it('succeeds if the response is lost and the retry finds nothing, with and without ifMatch', async () => {
      for (const hasIfMatch of [false, true]) {
        const { path, etag } = await newChunk();
        const { fetch, methods } = losing();
        await knowledge(fetch).deleteChildChunk(path, { ifMatch: hasIfMatch ? etag : undefined });
        // The last one shows that it is the chunk that does not exist, not its segment.
        assert.deepEqual(methods, ['DELETE', 'DELETE', 'GET']);
        await assert.rejects(knowledge().getChildChunk(path), { name: 'NotFound' });
      }
    });

    it('a retry that does not find the segment throws', async () => {
      const { path } = await newChunk();
      const call = knowledge(unreachableOnce()).deleteChildChunk({ ...path, segment_id: randomUUID() });
      await assert.rejects(call, { name: 'NotFound', message: 'segment not found' });
    });
  });
});
