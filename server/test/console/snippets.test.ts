import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { type Document, exampleOf, type Operation, operationsOf, resolved } from '../../../web/docs/document.ts';
import { pythonOf } from '../../../web/docs/snippets/python-snippet.ts';
import { curlOf, exampleRequest, targetOf, typescriptOf } from '../../../web/docs/snippets/snippets.ts';
import { repository } from '../support/cli-helpers.ts';
import { exampleRequests } from '../support/example-requests.ts';
import { parseLines, type Service } from '../support/harness.ts';
import { isLong, itLong } from '../support/long.ts';
import { type StoredRecord, startStarter } from '../support/openapi/record-examples.ts';
import { openapiFile } from '../support/openapi-check.ts';

const operations = operationsOf(resolved(JSON.parse(readFileSync(openapiFile, 'utf8')) as Document));
const operationOf = (id: string): Operation =>
  operations.find(({ operationId }) => operationId === id) ?? assert.fail(`no operation ${id}`);

/** Operations whose snippets delete, erase or end a record. Those of parents come first. */
const endings = [
  'deleteConversation',
  'openaiDeleteConversation',
  'openaiDeleteItem',
  'deleteMessage',
  'deleteChildChunk',
  'revokeKey',
];

/** The records of these operations as they were. Records of parents come first, so the last one is meant. */
function findEnded(records: readonly StoredRecord[]): StoredRecord[] {
  const restored: Record<string, object> = { conversation: { deleted: false }, child_chunk: { deleted: false } };
  return endings.map((operationId) => {
    // OpenAI clients name a record by its id without hyphens.
    const ids = Object.values(exampleRequests[operationId]?.parameters ?? {})
      .join(' ')
      .replaceAll('-', '');
    const ended = records.findLast(({ id }) => id !== undefined && ids.includes(id.replaceAll('-', '')));
    return ended ? { ...ended, ...restored[ended.record] } : assert.fail(`no record of ${operationId}`);
  });
}

/** Splits a command as a POSIX shell does, as far as snippets go: quotes, variables, escaped ends of lines. */
function wordsOf(command: string, variables: NodeJS.ProcessEnv): string[] {
  const words: string[] = [];
  const part = /'([^']*)'|"([^"]*)"|\\\n|\\(.)|(\s+)|([^\s'"\\]+)/gy;
  let word: string | undefined;
  for (const [whole, single, double, escaped, space, plain] of command.matchAll(part)) {
    const text = double?.replace(/\$(\w+)/g, (_, name) => variables[name] ?? '') ?? single ?? escaped ?? plain;
    if (text !== undefined) word = (word ?? '') + text;
    if (space === undefined && whole !== '\\\n') continue;
    if (word !== undefined) words.push(word);
    word = undefined;
  }
  return word === undefined ? words : [...words, word];
}

/** Sends what curl would send. */
async function curl(command: string): Promise<Response> {
  const [program, ...words] = wordsOf(command, process.env);
  assert.equal(program, 'curl');
  const headers = new Headers();
  let [url, method, body]: (string | undefined)[] = [];
  while (words.length > 0) {
    const word = words.shift();
    if (word === '-sS') continue;
    if (word === '-X') method = words.shift();
    else if (word === '--data-raw') body = words.shift();
    else if (word === '-H') {
      const [, name = '', value = ''] = /^([^:]+): (.*)$/.exec(words.shift() ?? '') ?? [];
      headers.set(name, value);
    } else if (url === undefined && word !== undefined && !word.startsWith('-')) url = word;
    else assert.fail(`curl ${word}`);
  }
  method ??= body === undefined ? 'GET' : 'POST';
  return fetch(url ?? '', { method, headers, ...(body !== undefined && { body }) });
}

describe('snippets of the reference', () => {
  let service: Service;
  let folder: string;
  let ended: readonly StoredRecord[];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'backscroll-snippets-'));
    const { secrets, records, ...started } = await startStarter();
    service = started.service;
    ended = findEnded([...parseLines(String(exampleRequests.importRecords?.body)), ...records]);
    for (const [kind, secret] of Object.entries(secrets)) process.env[`${kind.toUpperCase()}_KEY`] = secret;
    await signIn();
  });
  beforeEach(() => service.load(ended));
  after(async () => {
    await service.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function signIn(): Promise<void> {
    const { headers } = await service.request('POST', '/console/session', { body: { key: process.env.ADMIN_KEY } });
    process.env.CONSOLE_SESSION = /=([^;]+)/.exec(headers['set-cookie']?.[0] ?? '')?.[1];
  }

  /** As the example has it, with the one secret that a body holds. */
  const filledIn = (operation: Operation) => {
    const { values, body } = exampleRequest(operation);
    return { values, body: body.replace('admin-…', process.env.ADMIN_KEY ?? '') };
  };

  // All are written by the same rules.
  for (const operation of isLong ? operations : operations.filter((_, n) => n % 6 === 0)) {
    const { operationId } = operation;
    if (exampleRequests[operationId]?.fails) continue;
    it(`curl: ${operationId}`, async () => {
      const response = await curl(curlOf(operation, filledIn(operation), service.base));
      const text = await response.text();
      assert.ok(response.ok, `${response.status} ${text}`);
      if (exampleOf(operation) !== undefined) assert.doesNotThrow(() => JSON.parse(text));
    });

    it(`TypeScript: ${operationId}`, async (t) => {
      const printed = t.mock.method(console, 'log', () => undefined);
      const text = typescriptOf(operation, filledIn(operation), service.base);
      await run(operationId, text);
      assert.equal(printed.mock.callCount(), 1, text);
      assert.notEqual(printed.mock.calls[0]?.arguments[0 as never], undefined);
    });
  }

  /** Runs a snippet as a module of its own, with the SDK as it is in this repository. */
  async function run(name: string, text: string): Promise<void> {
    const sdk = new URL('../../../client/src/index.ts', import.meta.url).href;
    const file = join(folder, `${name}-${Math.random()}.ts`);
    await writeFile(file, text.replace(`'backscroll-client'`, `'${sdk}'`));
    await import(pathToFileURL(file).href);
  }

  itLong('compile as TypeScript', async () => {
    const code = join(folder, 'checked');
    await mkdir(code);
    for (const operation of operations) {
      const text = typescriptOf(operation, exampleRequest(operation), service.base);
      await writeFile(join(code, `${operation.operationId}.ts`), `${text}\nexport {};\n`);
    }
    const paths = { 'backscroll-client': [join(repository, 'client', 'src', 'index.ts')] };
    const options = { strict: true, noEmit: true, target: 'es2024', module: 'nodenext', types: ['node'], paths };
    const compilerOptions = {
      ...options,
      typeRoots: [join(repository, 'node_modules', '@types')],
      allowImportingTsExtensions: true,
      skipLibCheck: true,
    };
    await writeFile(join(code, 'package.json'), '{"type":"module"}');
    await writeFile(join(code, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
    const compiler = join(repository, 'node_modules', '.bin', 'tsc');
    const { stdout } = await promisify(execFile)(compiler, ['--checkers', '1', '-p', code]).catch((error) => error);
    assert.equal(stdout, '');
  });

  const awkward = `It's "5 o'clock" \\ $HOME \`x\` \n<é> 🙂 \\n`;

  it('accept any text, also quotes', async (t) => {
    const operation = operationOf('updateChildChunk');
    const { values } = exampleRequest(operation);
    for (const [at, body] of [
      JSON.stringify({ content: awkward }),
      JSON.stringify({ content: awkward }, null, 2),
    ].entries()) {
      const filled = { values: { ...values, 'if-match': '*' }, body };
      const response = await curl(curlOf(operation, filled, service.base));
      assert.equal(response.status, 200);
      assert.equal(((await response.json()) as { data: { content: string } }).data.content, awkward);
      const printed = t.mock.method(console, 'log', () => undefined);
      await run(`awkward-${at}`, typescriptOf(operation, filled, service.base));
      const [chunk] = (printed.mock.calls[0]?.arguments ?? []) as unknown as [{ content: string }];
      assert.equal(chunk.content, awkward);
      t.mock.restoreAll();
    }
  });

  it('for signing out end the session', async () => {
    const none = { values: {}, body: '' };
    const isSignedIn = async () => (await curl(curlOf(operationOf('getSession'), none, service.base))).status === 200;
    for (const signOut of [
      () => curl(curlOf(operationOf('signOut'), none, service.base)),
      () => run('signed-out', typescriptOf(operationOf('signOut'), none, service.base)),
    ]) {
      await signIn();
      assert.equal(await isSignedIn(), true);
      await signOut();
      assert.equal(await isSignedIn(), false);
    }
  });

  it('encode the query, and leave out empty values', async () => {
    const operation = operationOf('getConversationHistory');
    const { values } = exampleRequest(operation);
    const user = `o'neil & sons=?#`;
    const command = curlOf(operation, { values: { ...values, user, first_id: '' }, body: '' }, service.base);
    assert.ok(!command.includes('first_id'));
    const url = new URL(wordsOf(command, {}).find((word) => word.startsWith('http')) ?? '');
    assert.equal(url.searchParams.get('user'), user);
    assert.equal((await curl(command)).status, 404, 'a conversation of another user');
  });

  it('Python: has the address, method, headers and body of the request', () => {
    for (const operation of operations) {
      const filled = exampleRequest(operation);
      const text = pythonOf(operation, filled, 'http://x');
      assert.ok(text.includes(`    ${JSON.stringify(`http://x${targetOf(operation, filled)}`)},\n`), text);
      assert.equal(text.includes(`method="${operation.method}"`), operation.method !== 'GET');
      assert.equal(text.includes('.encode(),'), filled.body !== '');
      assert.equal(text.includes('import os\n'), text.includes('os.environ'));
      assert.equal(text.includes('import json\n'), /json\.(load|dumps)\(/.test(text));
      assert.doesNotMatch(text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""'), /\b(?:true|false|null|undefined)\b/);
    }
    const key = pythonOf(operationOf('updateKey'), exampleRequest(operationOf('updateKey')), 'http://x');
    assert.match(key, /json\.dumps\(\{\n {8}"read_only": True,\n {4}\}\)\.encode\(\)/);
  });

  it('never contain a key', () => {
    for (const operation of operations) {
      const filled = exampleRequest(operation);
      const python = pythonOf(operation, filled, 'http://x');
      const text = curlOf(operation, filled, 'http://x') + typescriptOf(operation, filled, 'http://x') + python;
      if (operation.kinds[0]) {
        assert.match(text, new RegExp(`\\$${operation.kinds[0].toUpperCase()}_KEY`));
        assert.match(python, new RegExp(`\\{os\\.environ\\['${operation.kinds[0].toUpperCase()}_KEY'\\]\\}`));
      }
      assert.doesNotMatch(text, /\b(?:app|dataset|writer|feed|admin)-[\w-]{20,}/);
    }
  });
});
