import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { makeTenant, makeTwoTenants, message, type Service, startService } from '../../server/test/support/harness.ts';
import { ApiError, Backscroll, BackscrollError, type ModelType, TooManyRequests } from '../src/index.ts';

const { one, other, records } = makeTwoTenants();
const workflow = makeTenant('workflow');
const provider = {
  record: 'model_provider',
  workspace_id: one.ids.workspace,
  provider: 'acme/embed',
  label: { en_US: 'Acme' },
  icon_small: { en_US: 'https://acme.example/icon.png' },
  status: 'active',
  models: [
    {
      model: 'embed-1',
      label: { en_US: 'Embed 1' },
      model_type: 'text-embedding',
      features: null,
      fetch_from: 'predefined-model',
      model_properties: { context_size: 512 },
      status: 'active',
      deprecated: false,
      load_balancing_enabled: false,
      has_invalid_load_balancing_configs: false,
    },
  ],
};
const conversation_id = one.ids.conversation;
const path = {
  dataset_id: one.ids.dataset,
  document_id: one.ids.document,
  segment_id: one.ids.segment,
  child_chunk_id: one.ids.chunk,
};

describe('against a running service', () => {
  let service: Service;
  const withKey = (key: string, more: object = {}) => new Backscroll({ baseUrl: `${service.base}/v1`, key, ...more });
  before(async () => {
    service = await startService('sqlite');
    const messages = [1, 2, 3].map((time) => message(conversation_id, time, { query: `question ${time}` }));
    await service.load([...records, ...workflow.records, provider, ...messages]);
  });
  after(() => service.close());

  it('append stores a conversation with its messages, and a repeated one stores nothing twice', async () => {
    let lost = 0;
    const losingOnce = async (url: string, init: RequestInit) => {
      const response = await fetch(url, init);
      if ((lost += 1) === 1) throw new TypeError('the response was lost');
      return response;
    };
    const conversation = { id: randomUUID(), app_id: one.ids.app, user: 'bea' };
    const id = randomUUID();
    const ids = await withKey(one.keys.writer, { fetch: losingOnce }).append({
      conversation,
      messages: [
        { query: 'first', answer: 'a' },
        { query: 'second', answer: 'b', id },
      ],
    });
    assert.equal(lost, 2);
    assert.deepEqual([ids.length, ids[1]], [2, id]);
    const { data } = await withKey(one.keys.app).listMessages({ conversation_id: conversation.id, user: 'bea' });
    assert.deepEqual(
      data.map((message) => [message.id, message.query]),
      [
        [id, 'second'],
        [ids[0], 'first'],
      ],
    );
    const bad = withKey(one.keys.writer).append({ conversation, messages: [{ query: 'third' } as never] });
    await assert.rejects(bad, /line 2: message: answer/);
  });

  it('listMessages returns a page', async () => {
    const page = await withKey(one.keys.app).listMessages({ conversation_id, user: 'ann', limit: 2 });
    assert.deepEqual([page.limit, page.has_more], [2, true]);
    assert.deepEqual(
      page.data.map(({ query }) => query),
      ['question 3', 'question 2'],
    );
    const first_id = page.data[1]?.id;
    const older = await withKey(one.keys.app).listMessages({ conversation_id, first_id, page_order: 'oldest_first' });
    assert.deepEqual([older.limit, older.has_more, older.data[0]?.query], [20, false, 'question 1']);
  });

  it('a baseUrl may end in slashes, and may lack its path', async () => {
    for (const end of ['/v1//', '', '/']) {
      const client = new Backscroll({ baseUrl: service.base + end, key: one.keys.app });
      assert.equal((await client.listMessages({ conversation_id })).data.length, 3);
    }
  });

  it('updateChildChunk replaces the text, and with ifMatch only the text that was read', async () => {
    const client = withKey(one.keys.knowledge);
    const seen = await client.getChildChunk(path);
    assert.deepEqual([seen.id, seen.content, seen.type], [one.ids.chunk, 'chunk text', 'automatic']);
    const first = await client.updateChildChunk({ ...path, content: 'ééé 漢字 😀' }, { ifMatch: seen.etag });
    assert.deepEqual([first.content, first.type], ['ééé 漢字 😀', 'customized']);
    assert.notEqual(first.etag, seen.etag);
    assert.deepEqual(await client.getChildChunk(path), first);
    const late = client.updateChildChunk({ ...path, content: 'too late' }, { ifMatch: seen.etag });
    await assert.rejects(late, { name: 'PreconditionFailed', status: 412, code: 'precondition_failed' });
    // Sent again after its response was lost: the same text with the old ETag.
    const again = await client.updateChildChunk({ ...path, content: 'ééé 漢字 😀' }, { ifMatch: seen.etag });
    assert.deepEqual(again, first);
    assert.equal((await client.updateChildChunk({ ...path, content: 'without' })).content, 'without');
  });

  it('listModels returns the providers', async () => {
    const [found] = await withKey(one.keys.app).listModels('text-embedding');
    assert.deepEqual([found?.provider, found?.tenant_id], ['acme/embed', one.ids.workspace]);
    assert.deepEqual(await withKey(other.keys.knowledge).listModels('llm'), []);
  });

  const causes: [string, string, () => Promise<unknown>, object][] = [
    [
      'InvalidParam',
      'a limit out of range',
      () => withKey(one.keys.app).listMessages({ conversation_id, limit: 101 }),
      { status: 400, code: 'invalid_param', message: /limit/ },
    ],
    [
      'InvalidParam',
      'an unknown model type',
      () => withKey(one.keys.app).listModels('video' as ModelType),
      { status: 400, code: 'invalid_param', message: /text-embedding/ },
    ],
    [
      'InvalidParam',
      'a blank text',
      () => withKey(one.keys.knowledge).updateChildChunk({ ...path, content: ' ' }),
      { status: 400, code: 'invalid_param', message: /content/ },
    ],
    [
      'NotChatApp',
      'an app of another mode',
      () => withKey(workflow.keys.app).listMessages({ conversation_id }),
      { status: 400, code: 'not_chat_app' },
    ],
    [
      'Unauthorized',
      'an unknown key',
      () => withKey('app-unknown').listMessages({ conversation_id }),
      { status: 401, code: 'unauthorized' },
    ],
    [
      'NotFound',
      'a conversation of another app',
      () => withKey(other.keys.app).listMessages({ conversation_id }),
      { status: 404, code: 'not_found', message: 'conversation not exists' },
    ],
    [
      'NotFound',
      'a chunk of another workspace',
      () => withKey(other.keys.knowledge).getChildChunk(path),
      { status: 404, code: 'not_found', message: 'dataset not found' },
    ],
    [
      'PayloadTooLarge',
      'a text of more than 1 MiB',
      () => withKey(one.keys.knowledge).updateChildChunk({ ...path, content: 'x'.repeat(1_100_000) }),
      { status: 413, code: 'payload_too_large' },
    ],
    [
      'HeadersTooLarge',
      'a parameter of 100 KB',
      () => withKey(one.keys.app).listMessages({ conversation_id, user: 'x'.repeat(100_000) }),
      { status: 431, code: 'headers_too_large' },
    ],
  ];
  for (const [name, cause, call, expected] of causes) {
    it(`${name}: ${cause}`, async () => {
      const [{ reason: error }] = (await Promise.allSettled([call()])) as [PromiseRejectedResult];
      assert.ok(error instanceof ApiError && error instanceof BackscrollError && error instanceof Error);
      await assert.rejects(Promise.reject(error), { name, ...expected });
      assert.match(error.requestId ?? '', /^[\w-]{8,}$/);
      assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes('Bearer'));
    });
  }

  it('TooManyRequests: over the limit, with the time to retry', async () => {
    const limited = await startService('sqlite', { RATE_LIMIT: '1' });
    try {
      await limited.load([...records, message(conversation_id, 1)]);
      limited.freezeClock();
      const client = new Backscroll({ baseUrl: `${limited.base}/v1`, key: one.keys.app, retries: 0 });
      const calls = Array.from({ length: 5 }, () => client.listMessages({ conversation_id }));
      const refused = (await Promise.allSettled(calls)).filter(({ status }) => status === 'rejected');
      assert.ok(refused.length > 0);
      for (const { reason } of refused as PromiseRejectedResult[]) {
        assert.ok(reason instanceof TooManyRequests);
        assert.ok((reason.retryAfter ?? 0) >= 1);
      }
    } finally {
      await limited.close();
    }
  });

  it('invalid ids are rejected or not found, and never lead to another path', async () => {
    const client = withKey(one.keys.knowledge);
    for (const child_chunk_id of ['', '.', '..'])
      await assert.rejects(client.updateChildChunk({ ...path, child_chunk_id, content: 'x' }), TypeError);
    for (const child_chunk_id of ['../..', 'a/b', '?', '%2e%2e', randomUUID()])
      await assert.rejects(client.getChildChunk({ ...path, child_chunk_id }), { message: 'child chunk not found' });
  });

  it('the key is not visible in the client', () => {
    const client = withKey(one.keys.app);
    assert.ok(!inspect(client, { depth: 9, showHidden: true }).includes(one.keys.app));
    assert.equal(JSON.stringify(client), '{}');
  });
});

describe('invalid options', () => {
  const right = { baseUrl: 'http://127.0.0.1:1/v1', key: 'app-secret' };
  const address = 'baseUrl must be an http or https address without user, query and fragment';
  const secret = 'key must be the secret of an API key';
  // The whole message, which repeats nothing that may be secret.
  const wrong: [string, object, string][] = [
    ['no address', { baseUrl: 'backscroll' }, address],
    ['another scheme', { baseUrl: 'ftp://127.0.0.1/v1' }, address],
    ['an address with a password', { baseUrl: 'http://ann:secret@127.0.0.1/v1' }, address],
    ['another path', { baseUrl: 'http://127.0.0.1/api' }, 'baseUrl must end in /v1, the path of the API'],
    ['an address with a query', { baseUrl: 'http://127.0.0.1/v1?a=secret' }, address],
    ['no key', { key: '' }, secret],
    ['a key with a line break', { key: 'app-secret\n' }, secret],
    ['a timeout of 0', { timeout: 0 }, 'timeout must be an integer from 1 to 2147483647, not 0'],
    [
      'a timeout longer than timers take',
      { timeout: 2 ** 31 },
      'timeout must be an integer from 1 to 2147483647, not 2147483648',
    ],
    ['retries without end', { retries: Infinity }, 'retries must be an integer from 0 to 2147483647, not Infinity'],
  ];
  for (const [name, options, message] of wrong) {
    it(`is refused when it is made: ${name}`, () => {
      assert.throws(() => new Backscroll({ ...right, ...options }), { name: 'TypeError', message });
    });
  }
});
