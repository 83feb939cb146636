import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';
import OpenAI from 'openai';
import { makeSecret } from '../../src/domain/secret.ts';
import {
  call,
  freePort,
  newFolder,
  newScope,
  oneLine,
  onTerminal,
  runCurl,
  type ServerProcess,
  sendRequest,
  serve,
} from '../support/cli-helpers.ts';
import { ndjson, parseLines, pluck } from '../support/harness.ts';
import { itLong } from '../support/long.ts';
import { until } from '../support/until.ts';

const kinds = { app: 'app', knowledge: 'dataset', writer: 'writer', admin: 'admin' };
const secretOf = (output: string, prefix: string): string =>
  new RegExp(`(?<![\\w-])${prefix}-[\\w-]{27,}`).exec(output)?.[0] ?? '';
const anySecret = /(?<![\w-])(app|dataset|writer|feed|admin)-[\w-]{27,}/;
/** Commands, which may go on after a backslash or in quotes. */
const curlLines = (output: string) => output.match(/\bcurl\b(?:'[^']*'|\\\n|[^\n'])*/g) ?? [];

/** The output with the welcome text, which is printed shortly after the service is ready. */
async function outputWithWelcome(serving: ServerProcess): Promise<string> {
  await until(() => secretOf(serving.output(), 'admin') !== '', serving.output);
  return serving.output();
}

async function exportAll(cwd: string): Promise<string> {
  const { code, stdout, stderr } = await call(['export'], { cwd });
  assert.equal(code, 0, stderr);
  return stdout;
}

describe('serve --starter on a new database', () => {
  const scope = newScope();
  let cwd: string;
  let serving: ServerProcess;
  let output: string;
  before(async () => {
    cwd = await newFolder(scope);
  });
  after(scope.end);

  it('creates no key when the port is in use, so that the next start prints the keys', async (t) => {
    const listener = net.createServer().listen(0, '127.0.0.1');
    t.after(async () => void listener.close());
    await once(listener, 'listening');
    const PORT = String((listener.address() as net.AddressInfo).port);
    const { code, stderr } = await call(['serve', '--starter'], { cwd, env: { PORT, WORKERS: '1' } });
    assert.equal(code, 1);
    assert.match(stderr, oneLine);
    assert.match(stderr, new RegExp(`PORT=${PORT}: already in use on 127\\.0\\.0\\.1; choose another PORT$`, 'm'));
    assert.deepEqual(readdirSync(cwd), []);
    serving = await serve(scope, { cwd, args: ['--starter'] });
    output = await outputWithWelcome(serving);
    assert.match(output, anySecret);
  });

  it('prints a key of each kind and three commands that work unchanged', async () => {
    for (const prefix of Object.values(kinds)) assert.notEqual(secretOf(output, prefix), '', `a key ${prefix}-…`);

    const lines = curlLines(output);
    assert.equal(lines.length, 3);
    for (const line of lines) assert.match(line, /^\s*curl\b.*\S$/);
    const before = await sendRequest(serving.base, '/admin/records', secretOf(output, 'admin'));
    const responses = await Promise.all(lines.map((line) => runCurl(line, cwd)));
    assert.deepEqual(pluck(responses, 'status'), [200, 200, 200]);
    const bodyOf = (word: RegExp) =>
      responses[lines.findIndex((line) => word.test(line))]?.body as Record<string, unknown>;
    const page = bodyOf(/\/v1\/messages\?/);
    assert.equal(page.has_more, true);
    assert.ok((page.data as unknown[]).length > 0);
    const patch = lines.find((line) => line.includes('child_chunks')) ?? '';
    const chunk = bodyOf(/child_chunks/).data as Record<string, unknown>;
    assert.equal(chunk.type, 'customized');
    assert.ok(patch.includes(chunk.id as string));
    assert.ok(patch.includes(JSON.stringify(chunk.content)));
    assert.ok(!before.text.includes(JSON.stringify(chunk.content)), 'the edit changes the text');
    const models = bodyOf(/model-types/).data as { models: { model_type: string }[] }[];
    assert.ok(models.length > 0);
    for (const provider of models)
      for (const model of provider.models) assert.equal(model.model_type, 'text-embedding');

    // All four keys authorize what their kind authorizes.
    const { base } = serving;
    const types = '/v1/workspaces/current/models/model-types/llm';
    assert.equal((await sendRequest(base, types, secretOf(output, 'dataset'))).status, 200);
    assert.equal((await sendRequest(base, '/metrics', secretOf(output, 'admin'))).status, 200);
    const conversation_id = /conversation_id=([\w-]+)/.exec(lines.join())?.[1];
    const newMessage = { record: 'message', id: crypto.randomUUID(), conversation_id, query: 'q', answer: 'a' };
    const written = await sendRequest(base, '/admin/records', secretOf(output, 'writer'), {
      method: 'POST',
      lines: ndjson([newMessage]),
    });
    assert.deepEqual([written.status, written.body], [200, { records: 1 }]);
  });

  it('provides a conversation of several pages with every nested object', async () => {
    const key = secretOf(output, 'app');
    const conversation = /conversation_id=([\w-]+)/.exec(output)?.[1];
    // biome-ignore lint/suspicious/noExplicitAny: tests read any field of a response
    const messages: any[] = [];
    let pages = 0;
    for (let more = true; more; pages += 1) {
      const from = messages.length > 0 ? `&first_id=${messages.at(-1).id}` : '';
      const { status, body } = await sendRequest(
        serving.base,
        `/v1/messages?conversation_id=${conversation}${from}`,
        key,
      );
      assert.equal(status, 200);
      assert.equal(body.limit, 20);
      messages.push(...body.data);
      more = body.has_more;
    }
    assert.ok(pages >= 3, `${pages} pages`);
    assert.equal(new Set(messages.map(({ id }) => id)).size, messages.length);

    const contents = messages.flatMap((one) => one.extra_contents);
    const inputs = contents.flatMap((one) => one.form_definition?.inputs ?? []);
    const features = {
      'a failed message': messages.some((one) => one.status === 'error' && typeof one.error === 'string'),
      'a parent message': messages.some((one) => one.parent_message_id !== null),
      inputs: messages.some((one) => Object.keys(one.inputs).length > 0),
      'a user file': messages.some((one) =>
        one.message_files.some((file: { belongs_to: string }) => file.belongs_to === 'user'),
      ),
      'a like': messages.some((one) => one.feedback?.rating === 'like'),
      'a dislike': messages.some((one) => one.feedback?.rating === 'dislike'),
      'a retriever resource': messages.some((one) => one.retriever_resources.length > 0),
      'an agent thought': messages.some((one) => one.agent_thoughts.length > 0),
      'an open form': contents.some((one) => one.submitted === false && one.form_definition !== null),
      'a submitted form': contents.some((one) => one.submitted === true && one.form_submission_data !== null),
      'a form action': contents.some((one) => one.form_definition?.actions.length > 0),
      'a variable default': inputs.some((one) => one.default?.type === 'variable'),
      'a constant default': inputs.some((one) => one.default?.type === 'constant'),
      'a price': messages.some((one) => one.total_price !== null && one.currency !== null),
    };
    assert.deepEqual(
      Object.entries(features).filter(([, isPresent]) => !isPresent),
      [],
    );

    const providers = new Set<string>();
    for (const type of ['text-embedding', 'rerank', 'llm', 'tts', 'speech2text', 'moderation']) {
      const { body } = await sendRequest(serving.base, `/v1/workspaces/current/models/model-types/${type}`, key);
      for (const { provider } of body.data) providers.add(provider);
    }
    assert.equal(providers.size, 3);
  });

  it('creates two chat apps with 40 conversations of 12 users in 30 days up to now, and a key of each kind', async () => {
    const text = await exportAll(cwd);
    const records: Record<string, string>[] = parseLines(text);
    const count = (record: string) => records.filter((one) => one.record === record).length;
    assert.deepEqual(['app', 'conversation', 'dataset', 'model_provider', 'api_key'].map(count), [2, 40, 2, 3, 5]);
    const talks = records.filter(({ record }) => record === 'conversation');
    assert.equal(new Set(talks.map(({ user }) => user)).size, 12);
    const times = records.filter(({ record }) => record === 'message').map(({ created_at }) => Number(created_at));
    const [oldest, newest] = [Math.min(...times), Math.max(...times)];
    const now = Date.now() / 1000;
    assert.ok(newest <= now && newest > now - 2 * 3_600, 'the newest message is about an hour old');
    assert.ok(newest - oldest > 28 * 86_400 && newest - oldest < 32 * 86_400);
    const chat = ['advanced-chat', 'agent', 'chat', 'agent-chat'];
    assert.ok(chat.includes(records.find((one) => one.record === 'app')?.mode ?? ''));
    for (const prefix of Object.values(kinds)) assert.ok(!text.includes(secretOf(output, prefix)));
  });

  it('adds nothing and prints no secret on the second start', async () => {
    const secret = secretOf(output, 'app');
    await serving.end('SIGTERM');
    const before = await exportAll(cwd);
    const second = await serve(scope, { cwd, args: ['--starter'] });
    assert.equal(await exportAll(cwd), before);
    const models = '/v1/workspaces/current/models/model-types/llm';
    assert.equal((await sendRequest(second.base, models, secret)).status, 200, 'the first keys still work');
    await second.end('SIGTERM');
    assert.doesNotMatch(second.output(), anySecret);
    assert.deepEqual(curlLines(second.output()), []);
    for (const page of ['console', 'docs']) assert.ok(second.output().includes(`${second.base}/${page}`));
    assert.match(second.output(), /: npx backscroll keys create --kind admin --name NAME$/m);
  });
});

describe('serve --starter', () => {
  itLong('adds nothing to a database with any record', async (t) => {
    const existing = [
      [{ record: 'api_key', kind: 'admin', name: 'only a key', secret: makeSecret('admin') }],
      [{ record: 'workspace', id: crypto.randomUUID(), name: 'only a workspace' }],
    ];
    for (const records of existing) {
      const cwd = await newFolder(t);
      assert.equal((await call(['import', '-'], { cwd, stdin: ndjson(records) })).code, 0);
      const before = await exportAll(cwd);
      const serving = await serve(t, { cwd, args: ['--starter'] });
      assert.equal(await exportAll(cwd), before);
      await serving.end('SIGTERM');
      assert.doesNotMatch(serving.output(), anySecret);
    }
  });

  itLong('is needed: serve alone adds and prints nothing', async (t) => {
    const cwd = await newFolder(t);
    const serving = await serve(t, { cwd });
    assert.equal(await exportAll(cwd), '');
    await serving.end('SIGTERM');
    assert.doesNotMatch(serving.output(), anySecret);
    assert.doesNotMatch(serving.output(), /curl|\/console/);
  });

  itLong(
    'is not needed for the URLs of the console and the reference: serve alone prints them on a terminal',
    async (t) => {
      const cwd = await newFolder(t);
      const serving = await serve(t, { cwd, ...(await onTerminal(cwd)) });
      await serving.end('SIGTERM');
      for (const page of ['console', 'docs']) assert.match(serving.output(), new RegExp(`${serving.base}/${page}\\b`));
      assert.match(serving.output(), /: npx backscroll keys create --kind admin --name NAME$/m);
      assert.equal(await exportAll(cwd), '');
      assert.doesNotMatch(serving.output(), anySecret);
    },
  );
});

describe('init', () => {
  const scope = newScope();
  after(scope.end);

  it('creates an app with two keys, and prints what to try, which works unchanged', async () => {
    const cwd = await newFolder(scope);
    const PORT = String(await freePort());
    const created = await call(['init', 'Help desk'], { cwd, env: { PORT } });
    assert.equal(created.code, 0, created.stderr);
    const { base } = await serve(scope, { cwd, env: { PORT } });
    const [append = '', read = ''] = curlLines(created.stdout);
    const first = await runCurl(append, cwd);
    assert.equal(first.status, 200);
    assert.deepEqual((await runCurl(append, cwd)).body, first.body, 'it can be pasted twice');
    const { data } = (await runCurl(read, cwd)).body as { data: { query: string; answer: string }[] };
    assert.deepEqual(
      data.map(({ query, answer }) => [query, answer]),
      [['Hello?', 'Hello! How can I help?']],
    );
    const [, baseURL, apiKey] = /baseURL: '(.*)', apiKey: '(.*)'/.exec(created.stdout) ?? [];
    assert.deepEqual([baseURL, apiKey], [`${base}/openai/v1`, secretOf(created.stdout, 'writer')]);
    const client = new OpenAI({ baseURL, apiKey });
    assert.equal((await client.conversations.create()).object, 'conversation');
    const everywhere = await call(['init', 'Shop'], { cwd, env: { PORT, HOST: '0.0.0.0' } });
    assert.ok(everywhere.stdout.includes(`'${base}/openai/v1'`), 'an address that can be reached');
  });

  it('uses the only workspace, and asks which if there are several', async () => {
    const cwd = await newFolder(scope);
    const apps = async () =>
      (await exportAll(cwd)).split('\n').filter((line) => /"record":"(app|workspace)"/.test(line)).length;
    for (const name of ['one', 'two']) assert.equal((await call(['init', name], { cwd })).code, 0);
    assert.equal(await apps(), 3);
    const workspace = { record: 'workspace', id: randomUUID(), name: 'second' };
    await call(['import', '-'], { cwd, stdin: ndjson([workspace]) });
    const unclear = await call(['init', 'three'], { cwd });
    assert.equal(unclear.code, 1);
    assert.equal(unclear.stderr, 'workspace_id is required: there are several workspaces\n');
    assert.equal((await call(['init', 'three', '--workspace', workspace.id], { cwd })).code, 0);
    assert.equal(await apps(), 5);
    for (const args of [['init'], ['init', 'a', 'b'], ['init', '--workspace', 'x']]) {
      const { code, stderr } = await call(args, { cwd });
      assert.equal(code, 2);
      assert.match(stderr, oneLine);
    }
    assert.equal((await call(['init', ' '], { cwd })).stderr, 'name must not be blank\n');
  });
});
