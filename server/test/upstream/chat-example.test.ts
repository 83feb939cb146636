import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { freePort, repository } from '../support/cli-helpers.ts';
import { makeTwoTenants, onOneEngine, pluck, type Service, startService } from '../support/harness.ts';
import { until } from '../support/until.ts';

const modelKey = 'sk-of-the-test';
const usage = { prompt_tokens: 17, completion_tokens: 3, total_tokens: 20 };

type Prompt = { role: string; content: string };
/** What the stand-in does with a request. `say` sends a piece of the answer. */
type Script = (say: (text: string) => void, response: http.ServerResponse) => void | Promise<void>;

/** Speaks the protocol of OpenAI's chat completions, as far as it streams. */
class ModelStandIn {
  readonly requests: { model: string; messages: Prompt[] }[] = [];
  script: Script = () => undefined;
  readonly server = http.createServer(async (request, response) => {
    assert.equal(`${request.method} ${request.url}`, 'POST /v1/chat/completions');
    assert.equal(request.headers.authorization, `Bearer ${modelKey}`);
    let body = '';
    for await (const chunk of request) body += chunk;
    this.requests.push(JSON.parse(body));
    const send = (chunk: object) => response.write(`data: ${JSON.stringify(chunk)}\r\n\r\n`);
    await this.script((content) => send({ choices: [{ index: 0, delta: { content } }] }), response);
    if (response.writableEnded || response.destroyed) return;
    send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
    send({ choices: [], usage });
    response.end('data: [DONE]\n\n');
  });

  async listen(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1/`;
  }
}

function startExample(env: Record<string, string>) {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const example = spawn(process.execPath, [join(repository, 'examples', 'chat', 'chat.ts')], {
    env: { PATH, NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  example.stdout.on('data', (text) => (output.stdout += text));
  example.stderr.on('data', (text) => (output.stderr += text));
  return { example, output };
}

/** Reads the events of a response one by one; a ping is `{ event: 'ping' }`. */
async function* eventsOf(response: Response) {
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  let rest = '';
  for await (const bytes of response.body ?? []) {
    const frames = `${rest}${Buffer.from(bytes)}`.split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      if (frame === 'event: ping') yield { event: 'ping' };
      else {
        assert.ok(frame.startsWith('data: {'), frame);
        yield JSON.parse(frame.slice('data: '.length));
      }
    }
  }
  assert.equal(rest, '');
}

onOneEngine('the example of a chat upstream', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();
  const model = new ModelStandIn();
  let service: Service;
  let started: ReturnType<typeof startExample>;

  before(async () => {
    const modelUrl = await model.listen();
    const port = String(await freePort());
    service = await startService(engine, { UPSTREAM_URL: `http://127.0.0.1:${port}/v1` });
    await service.load(records);
    started = startExample({
      BACKSCROLL_URL: `${service.base}/v1`,
      BACKSCROLL_KEY: one.keys.writer,
      OPENAI_BASE_URL: modelUrl,
      OPENAI_API_KEY: modelKey,
      OPENAI_MODEL: 'model-test',
      PROMPT_PRICE: '2.5',
      COMPLETION_PRICE: '10',
      SYSTEM_PROMPT: 'Be brief.',
      CONTEXT_MESSAGES: '2',
      PING_SECONDS: '1',
      PORT: port,
    });
    await until(
      () => started.output.stdout.includes('is running'),
      () => started.output.stderr,
    );
  });
  after(async () => {
    const { example } = started;
    const hasEnded = example.exitCode !== null || example.signalCode !== null;
    const exit = hasEnded ? undefined : once(example, 'exit');
    example.kill('SIGKILL');
    await exit;
    model.server.closeAllConnections();
    model.server.close();
    await service.close();
  });

  const post = (
    path: string,
    body: object,
    { key = one.keys.app, signal }: { key?: string; signal?: AbortSignal } = {},
  ) =>
    fetch(`${service.base}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });
  const ask = (query: string, more: object = {}) =>
    post('chat-messages', { query, user: 'ann', inputs: {}, response_mode: 'streaming', ...more });
  const askBlocking = async (query: string, more: object = {}) => {
    const response = await ask(query, { response_mode: 'blocking', ...more });
    return { status: response.status, body: await response.json() };
  };
  /** All messages of a conversation, newest first. */
  async function history(conversation_id: string) {
    const path = `/v1/messages?user=ann&conversation_id=${conversation_id}`;
    const { status, body } = await service.as(one.keys.app).get(path);
    assert.equal(status, 200);
    return body.data;
  }
  const say =
    (...texts: string[]): Script =>
    (send) =>
      texts.forEach(send);

  it('streams an answer piece by piece, and history has it directly after message_end', async () => {
    const next = Promise.withResolvers<void>();
    model.script = async (send) => {
      send('Hold');
      await next.promise;
      send(' the button 🙂');
    };
    const events = [];
    for await (const event of eventsOf(await ask('How?', { inputs: { channel: 'web' } }))) {
      if (event.event === 'ping') continue;
      events.push(event);
      // The model continues only when the client has its first piece.
      next.resolve();
      if (event.event !== 'message_end') continue;
      const [message, ...older] = await history(event.conversation_id);
      assert.deepEqual(older, []);
      assert.equal(message.id, event.message_id);
      assert.equal(message.created_at, event.created_at);
      assert.deepEqual([message.query, message.answer, message.status], ['How?', 'Hold the button 🙂', 'normal']);
      assert.deepEqual([message.message_tokens, message.answer_tokens], [17, 3]);
      assert.deepEqual([message.total_price, message.currency], ['0.0000725', 'USD']);
      const exported = await service.as(admin).get(`/admin/messages.csv?conversation_id=${event.conversation_id}`);
      assert.match(exported.text, /,0\.0000725,USD,[^,]+,127\.0\.0\.1,model-test\r\n$/);
      const { body } = await service.as(one.keys.app).get('/v1/conversations?user=ann');
      const [conversation] = body.data;
      assert.deepEqual([conversation.id, conversation.name], [event.conversation_id, 'How?']);
      assert.deepEqual(conversation.inputs, { channel: 'web' });
    }
    assert.deepEqual(
      events.map(({ event, answer }) => [event, answer]),
      [
        ['message', 'Hold'],
        ['message', ' the button 🙂'],
        ['message_end', undefined],
      ],
    );
    const { conversation_id, message_id, task_id, created_at } = events[0];
    for (const event of events) {
      const { metadata, answer, from_variable_selector, files, event: _, ...ids } = event;
      assert.deepEqual(ids, { conversation_id, message_id, task_id, created_at, id: message_id });
    }
    const { latency, ...counted } = events[2].metadata.usage;
    assert.ok(latency > 0);
    assert.deepEqual([counted.prompt_tokens, counted.completion_tokens, counted.total_tokens], [17, 3, 20]);
    assert.equal(model.requests.at(-1)?.model, 'model-test');
  });

  it('gives the model the newest earlier messages as context, and only to their user', async () => {
    model.script = say('one');
    const first = await askBlocking('1?');
    const { conversation_id } = first.body;
    for (const [query, text] of [
      ['2?', 'two'],
      ['3?', 'three'],
    ] as const) {
      model.script = say(text);
      await askBlocking(query, { conversation_id });
    }
    model.script = say('four');
    for await (const event of eventsOf(await ask('4?', { conversation_id }))) {
      if (event.event !== 'ping') assert.equal(event.conversation_id, conversation_id);
    }
    assert.deepEqual(
      model.requests.at(-1)?.messages.map(({ role, content }) => `${role}: ${content}`),
      ['system: Be brief.', 'user: 2?', 'assistant: two', 'user: 3?', 'assistant: three', 'user: 4?'],
    );
    assert.deepEqual(pluck(await history(conversation_id), 'answer'), ['four', 'three', 'two', 'one']);
    const requests = model.requests.length;
    const expected = { status: 404, code: 'not_found', message: 'conversation not exists' };
    for (const response_mode of ['streaming', 'blocking']) {
      const response = await ask('Mine?', { conversation_id, user: 'bob', response_mode });
      assert.equal(response.status, 404);
      assert.deepEqual(await response.json(), expected);
    }
    const body = { query: 'Mine?', user: 'ann', conversation_id };
    assert.equal((await post('chat-messages', body, { key: other.keys.app })).status, 404);
    assert.equal(model.requests.length, requests);
  });

  it('responds with the whole answer if the request is blocking', async () => {
    model.script = say('Hold', ' it.');
    const { status, body } = await askBlocking('How?');
    assert.equal(status, 200);
    const { event, mode, answer, metadata, id, message_id, conversation_id } = body;
    assert.deepEqual([event, mode, answer, id], ['message', 'chat', 'Hold it.', message_id]);
    assert.equal(metadata.usage.total_tokens, 20);
    const [message] = await history(conversation_id);
    assert.deepEqual([message.id, message.answer], [message_id, 'Hold it.']);
  });

  it('stops for its own user: what was generated is stored, then the stream ends', async () => {
    const more = Promise.withResolvers<void>();
    const isClosed = Promise.withResolvers<void>();
    model.script = async (send, response) => {
      response.once('close', isClosed.resolve);
      send('Hold');
      await more.promise;
      // Half of a character, which no record can have.
      send(' the\ud83d');
      await isClosed.promise;
    };
    const answers: string[] = [];
    let end: { conversation_id: string; metadata: { usage: { total_tokens: number } } } | undefined;
    for await (const event of eventsOf(await ask('How?'))) {
      if (event.event === 'message') {
        answers.push(event.answer);
        const user = answers.length === 1 ? 'bob' : 'ann';
        const response = await post(`chat-messages/${event.task_id}/stop`, { user });
        assert.deepEqual([response.status, await response.json()], [200, { result: 'success' }]);
        more.resolve();
      }
      if (event.event === 'message_end') {
        end = event;
        const [message] = await history(event.conversation_id);
        assert.deepEqual([message.answer, message.status], ['Hold the\ufffd', 'normal']);
      }
    }
    // The second piece came: the other user did not stop it.
    assert.equal(answers.length, 2);
    assert.equal(end?.metadata.usage.total_tokens, 0);
    // The model does not generate any longer.
    await isClosed.promise;
  });

  it('sends a failure of the model as one event, or as an error, and stores it', async () => {
    const failAtOnce: Script = (_, response) => {
      response.writeHead(429, { 'content-type': 'application/json' });
      response.end('{"error":{"message":"Provider said no"}}');
    };
    const failLater: Script = (send, response) => {
      send('Hold');
      response.end('data: {"error":{"message":"Provider said no"}}\n\n');
    };
    const breakOff: Script = (send, response) => {
      send('Hold');
      response.end();
    };
    const cases: [script: Script, texts: string, reason: string][] = [
      [failAtOnce, '', 'Provider said no'],
      [failLater, 'Hold', 'Provider said no'],
      [breakOff, 'Hold', 'the answer of the model broke off'],
      [(_, response) => void response.destroy(), '', 'the connection to the model failed'],
      [(_, response) => void response.writeHead(502).end('<html>'), '', 'the model responded with status 502'],
    ];
    for (const [script, text, reason] of cases) {
      model.script = script;
      const error = { code: 'completion_request_error', message: reason, status: 400 };
      const events = [];
      for await (const event of eventsOf(await ask('How?'))) if (event.event !== 'ping') events.push(event);
      const { event, conversation_id, message_id, task_id, created_at, id, ...failure } = events.at(-1);
      assert.equal(event, 'error');
      assert.deepEqual(failure, error);
      assert.ok(task_id && created_at && id === message_id);
      assert.equal(events.length, text === '' ? 1 : 2);
      const [message] = await history(conversation_id);
      const { id: stored, answer, status } = message;
      assert.deepEqual([stored, answer, status, message.error], [message_id, text, 'error', reason]);
      assert.deepEqual(await askBlocking('How?'), { status: 400, body: error });
      // A failed message is no context.
      model.script = say('Now.');
      assert.equal((await askBlocking('And now?', { conversation_id })).status, 200);
      assert.deepEqual(pluck(model.requests.at(-1)?.messages ?? [], 'content'), ['Be brief.', 'And now?']);
    }
  });

  it('finishes and stores an answer whose client has left', async () => {
    const abortedRequests = () =>
      service.logs.filter((line) => line.includes('"route":"/v1/*"') && line.includes('"aborted":true')).length;
    for (const response_mode of ['streaming', 'blocking']) {
      const query = `How, if ${response_mode}?`;
      const asked = Promise.withResolvers<void>();
      const left = Promise.withResolvers<void>();
      model.script = async (send) => {
        send('Hold');
        asked.resolve();
        await left.promise;
        send(' it.');
      };
      const client = new AbortController();
      const asking = post('chat-messages', { query, user: 'leaver', response_mode }, client);
      asking.catch(() => undefined);
      await asked.promise;
      if (response_mode === 'streaming') assert.equal((await eventsOf(await asking).next()).value.answer, 'Hold');
      const aborted = abortedRequests();
      client.abort();
      // The service has seen that the client left, and ended its request.
      await until(() => abortedRequests() > aborted);
      left.resolve();
      await until(async () => {
        const list = await service.as(one.keys.app).get('/v1/conversations?user=leaver');
        const { id } = list.body.data.find(({ name }: { name: string }) => query.startsWith(name.slice(0, 16)));
        const path = `/v1/messages?conversation_id=${id}`;
        const { body } = await service.as(one.keys.app).get(path);
        return body.data[0].answer === 'Hold it.';
      });
    }
  });

  it('pings while the model is silent', async () => {
    const pinged = Promise.withResolvers<void>();
    model.script = async (send) => {
      await pinged.promise;
      send('At last.');
    };
    const events = [];
    for await (const { event } of eventsOf(await ask('How?'))) {
      if (event === 'ping') pinged.resolve();
      events.push(event);
    }
    assert.equal(events[0], 'ping');
    assert.deepEqual(
      events.filter((event) => event !== 'ping'),
      ['message', 'message_end'],
    );
  });

  it('rejects what it cannot answer before it asks the model', async () => {
    const requests = model.requests.length;
    const statusOf = async (path: string, body: object, key?: string) =>
      (await post(path, body, key === undefined ? {} : { key })).status;
    assert.equal(await statusOf('chat-messages', { query: 'How?' }), 400);
    assert.equal(await statusOf('chat-messages', { user: 'ann', query: '' }), 400);
    assert.equal(await statusOf('chat-messages', { user: 'ann', query: 'NUL \0' }), 400);
    assert.equal(await statusOf('chat-messages', { user: 'ann', query: 'How?', files: [{ type: 'image' }] }), 400);
    assert.equal(await statusOf('chat-messages', { user: 'ann', query: 'x'.repeat(1024 * 1024) }), 413);
    assert.equal(await statusOf('chat-messages', { user: 'ann', query: 'How?' }, one.keys.knowledge), 401);
    // The writer key is that of another app.
    assert.equal(await statusOf('chat-messages', { user: 'ann', query: 'How?' }, other.keys.app), 400);
    assert.equal(await statusOf('completion-messages', {}), 404);
    assert.equal(model.requests.length, requests);
  });

  it('names all invalid settings at its start', async () => {
    const env = { BACKSCROLL_URL: 'localhost:5001', BACKSCROLL_KEY: 'app-x', CONTEXT_MESSAGES: '0', PORT: 'x' };
    const { example, output } = startExample(env);
    const [code] = await once(example, 'close');
    assert.equal(code, 2);
    assert.deepEqual(output.stderr.trim().split('\n'), [
      'BACKSCROLL_URL must start with http:// or https://',
      'BACKSCROLL_KEY must be the secret of a writer key',
      'OPENAI_BASE_URL is not set',
      'OPENAI_MODEL is not set',
      'CONTEXT_MESSAGES must be an integer from 1 to 100',
      'PORT must be an integer from 0 to 65535',
    ]);
  });

  it('finishes the answers in progress when it is ended', async () => {
    const ending = Promise.withResolvers<void>();
    model.script = async (send) => {
      send('Hold');
      await ending.promise;
      send(' it.');
    };
    const exit = once(started.example, 'exit');
    const events = [];
    for await (const event of eventsOf(await ask('How?'))) {
      if (events.length === 0) started.example.kill('SIGTERM');
      ending.resolve();
      events.push(event.event);
    }
    assert.equal(events.at(-1), 'message_end');
    assert.deepEqual(await exit, [0, null]);
  });
});
