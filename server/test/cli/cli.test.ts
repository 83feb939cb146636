import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { chmod, cp, mkdir, writeFile } from 'node:fs/promises';
import http from 'node:http';
import net from 'node:net';
import { delimiter, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { commandLine } from '../../src/domain/import/check-references.ts';
import { importRecords } from '../../src/domain/import/import-records.ts';
import type { Store } from '../../src/domain/store/store.ts';
import {
  type CommandResult,
  call,
  command,
  filesContaining,
  freePort,
  launcher,
  newFolder,
  newScope,
  oneLine,
  repository,
  run,
  runMany,
  type Scope,
  type ServerProcess,
  type Settings,
  sendRequest,
  serve,
  starterRecords,
} from '../support/cli-helpers.ts';
import {
  databaseAt,
  exportedText,
  makeTenant,
  makeTwoTenants,
  message,
  ndjson,
  parseLines,
  pluck,
} from '../support/harness.ts';
import { itLong, shortOrLong } from '../support/long.ts';
import { until } from '../support/until.ts';

const parallel = { concurrency: 4 };

function assertFailed(ran: CommandResult, code: number, expected: RegExp): void {
  assert.equal(ran.code, code, `${ran.stdout}${ran.stderr}`);
  assert.match(ran.stderr, oneLine);
  assert.match(ran.stderr, expected);
  assert.equal(ran.stdout, '');
}

function assertSuccess(ran: CommandResult): string {
  assert.equal(ran.code, 0, `${ran.stdout}${ran.stderr}`);
  assert.equal(ran.stderr, '');
  return ran.stdout;
}

/** Opens the store of the default database in a folder without starting a process. */
async function withStore<T>(cwd: string, use: (store: Store) => Promise<T>): Promise<T> {
  const database = databaseAt(`sqlite:${databaseIn(cwd)}`);
  await database.migrate(0);
  const store = await database.open();
  return use(store).finally(() => store.close());
}

/** Creates a folder whose default database has these records. */
async function newDatabase(scope: Scope, records: readonly object[]): Promise<string> {
  const cwd = await newFolder(scope);
  const bytes = Readable.from([Buffer.from(ndjson(records))]);
  const now = Math.floor(Date.now() / 1000);
  await withStore(cwd, (store) => importRecords(store, commandLine, [{ bytes }], now));
  return cwd;
}

/** The output of `export`, without starting a process. */
const contents = (cwd: string): Promise<string> => withStore(cwd, exportedText);

/** All of 127.0.0.0/8 is this machine: another address in it represents one that others can reach. */
async function reaches({ base }: ServerProcess, host: string): Promise<boolean> {
  const socket = net.connect(Number(new URL(base).port), host);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

const databaseIn = (cwd: string): string => join(cwd, 'data', 'backscroll.db');
const exportAll = async (cwd: string, env?: Settings): Promise<string> =>
  assertSuccess(await call(['export'], { cwd, env }));

describe('help', parallel, () => {
  const calls = [
    [],
    ['--help'],
    ...['serve', 'import', 'export', 'backup', 'keys', 'migrate', 'purge', 'changes', 'reindex', 'audit', 'retain'].map(
      (name) => [name, '--help'],
    ),
    ...['create', 'list', 'revoke'].map((name) => ['keys', name, '--help']),
  ];
  it('is printed without a command, and by every command, on standard output, whatever the settings are', async (t) => {
    const cwd = await newFolder(t);
    const env = { PORT: 'bad' };
    const ran = await runMany(
      calls.map((args) => ({ args })),
      { cwd, env },
    );
    for (const [at, call] of calls.entries()) {
      const stdout = assertSuccess(ran[at] as CommandResult);
      assert.match(stdout, /usage/i);
      for (const word of call.filter((one) => one !== '--help')) assert.ok(stdout.includes(word));
      for (const list of stdout.matchAll(/^[A-Z].*:\n((?: .*\n)+)/gm)) {
        // The second column, also on lines without a name; usage lines and examples have none.
        const columns = [...(list[1] ?? '').matchAll(/^( {2}\S.*? {2,}| {4,})\S/gm)].map(
          ([, before = '']) => before.length,
        );
        assert.ok(new Set(columns).size <= 1, `${call.join(' ')}: ${list[0]}`);
        assert.doesNotMatch(list[1] ?? '', /^ {3,}--/m);
      }
    }
    assert.deepEqual(readdirSync(cwd), []);
  });

  it('names every command and every setting; the pages name every command, and no other', async (t) => {
    const stdout = assertSuccess(await call(['--help'], { cwd: await newFolder(t) }));
    const [, list = ''] = /^Commands:\n((?: .*\n)+)/m.exec(stdout) ?? [];
    const commands = [...list.matchAll(/^ {2}(\w+)/gm)].map(([, name = '']) => name);
    for (const name of ['serve', 'import', 'export', 'backup', 'keys', 'migrate', 'purge'])
      assert.ok(commands.includes(name), name);
    const read = (path: string) => readFileSync(join(repository, path), 'utf8');
    const page = read('docs/run/commands.md');
    assert.deepEqual(
      commands.filter((name) => !page.includes(`| \`npx backscroll ${name}`)),
      [],
    );
    const pages = globSync('{*.md,server/*.md,client/*.md,docs/**/*.md,examples/**/*.md}', { cwd: repository });
    const named = pages.flatMap((path) => [...read(path).matchAll(/(?:`|npx |^|[;&|(] ?)backscroll ([a-z]+)/gm)]);
    assert.ok(named.length > 50);
    const others = named.map(([, name = '']) => name).filter((name) => !commands.includes(name));
    assert.deepEqual(others, []);
    for (const name of ['HOST', 'PORT', 'DATABASE_URL', 'PAGE_ORDER', 'LOG_LEVEL', 'RATE_LIMIT', 'METRICS_TOKEN'])
      assert.match(stdout, RegExp(name));
  });
});

describe('wrong usage exits with 2 and one line on standard error', parallel, () => {
  const id = randomUUID();
  const calls: [string[], RegExp][] = [
    [['sevre'], /sevre.*\(see npx backscroll --help\)$/m],
    [['--verbose'], /--verbose/],
    [['constructor'], /constructor/],
    [['serve', '--fast'], /--fast/],
    [['serve', 'now'], /unexpected argument 'now'/],
    [['import'], /FILE/],
    [['import', '--fast', 'x'], /--fast/],
    [['export', 'one', 'two'], /two/],
    [['backup'], /FILE/],
    [['backup', 'one', 'two'], /two/],
    [['keys'], /keys/],
    [['keys', 'destroy'], /destroy/],
    [['keys', 'revoke'], /ID.*\(see npx backscroll keys --help\)$/m],
    [['keys', 'update', '--read-only'], /ID.*\(see npx backscroll keys --help\)$/m],
    [['keys', 'update', id], /--read-only, --read-write or --role/],
    [['keys', 'update', id, '--read-only', '--read-write'], /--read-only, --read-write or --role/],
    [['keys', 'update', id, '--role', 'root'], /--role must be one of viewer, editor, admin/],
    [['keys', 'create', '--kind', 'app', '--app', id, '--role', 'viewer'], /--role is not allowed for --kind app/],
    [['keys', 'list', 'all'], /all/],
    [['migrate', '--back'], /--back/],
    [['purge'], /--conversation/],
    [['purge', '--app', id], /--user/],
    [['purge', '--user', 'ann'], /--app/],
    [['purge', '--conversation', id, '--user', 'ann', '--app', id, '--yes'], /--conversation/],
    [['purge', '--conversation'], /--conversation/],
    [['export', '--user', ''], /--user must not be empty/],
    [['export', '--app', '', '--user', 'ann'], /--app must not be empty/],
    [['export', '--kinds='], /--kinds must not be empty/],
    [['changes', '--kinds', ''], /--kinds must not be empty/],
    [['purge', '--app', 'a', '--user', '', '--yes'], /--user must not be empty/],
    [['export', '--kinds', 'foo'], /--kinds must be a comma-separated list of workspace/],
    [['export', '--kinds', 'dataset', '--user', 'ann'], /--kinds must be of workspace/],
    [['changes', '--kinds', 'foo'], /--kinds must be/],
    [['keys', 'create'], /--kind/],
    [['keys', 'create', '--kind', 'root'], /--kind/],
    [['keys', 'create', '--kind', 'app'], /--app/],
    [['keys', 'create', '--kind', 'writer'], /--app/],
    [['keys', 'create', '--kind', 'knowledge'], /--workspace/],
    [['keys', 'create', '--kind', 'app', '--app', id, '--workspace', id], /--workspace/],
    [['keys', 'create', '--kind', 'app', '--app', id, '--dataset', id], /--dataset/],
    [
      ['keys', 'create', '--kind', 'writer', '--app', id, '--read-only'],
      /--read-only is not allowed for --kind writer/,
    ],
    [['keys', 'create', '--kind', 'admin', 'more'], /unexpected argument 'more'/],
    [['keys', 'create', '--kind', 'knowledge', '--workspace', id, '--app', id], /--app/],
    [['keys', 'create', '--kind', 'admin', '--workspace', id], /--workspace/],
    [['keys', 'create', '--kind', 'feed', '--app', id], /--workspace/],
    [
      ['keys', 'create', '--kind', 'feed', '--workspace', id, '--app', id, '--dataset', id],
      /--app and --dataset are not allowed together for --kind feed/,
    ],
    ...['90', 'd', '0d', '1.5d', '-1d', '90d ', 'never', ''].map((time): [string[], RegExp] => [
      ['keys', 'create', '--kind', 'admin', `--expires=${time}`],
      /--expires/,
    ]),
  ];
  const scope = newScope();
  let cwd: string;
  let ran: CommandResult[];
  before(async () => {
    cwd = await newFolder(scope);
    ran = await runMany(
      calls.map(([args]) => ({ args })),
      { cwd },
    );
  });
  after(scope.end);
  for (const [at, [call, expected]] of calls.entries())
    it(call.join(' '), () => assertFailed(ran[at] as CommandResult, 2, expected));

  it('creates nothing, also when run as a separate process', async () => {
    for (const [call, expected] of calls.slice(0, 1)) assertFailed(await run(call, { cwd }), 2, expected);
    assert.deepEqual(readdirSync(cwd), []);
  });
});

describe('settings', parallel, () => {
  const invalid: [string, string, RegExp][] = [
    ['PORT', 'abc', /65,?535/],
    ['PORT', '70000', /65,?535/],
    ['PORT', '-1', /65,?535/],
    ['PORT', '80.5', /65,?535/],
    ['HOST', 'not a host', /address|host/],
    ['RATE_LIMIT', 'x', /number/],
    ['RATE_LIMIT', '-5', /number/],
    ['WRITE_LIMIT', 'x', /number/],
    ['WRITE_LIMIT', '1.5', /number/],
    ['PAGE_ORDER', 'up', /newest_first.*oldest_first/],
    ['LOG_LEVEL', 'loud', /info.*debug/],
    ['DATABASE_URL', 'mysql://host/db', /sqlite:.*postgres:/],
    ['DATABASE_URL', 'data/backscroll.db', /sqlite:.*postgres:/],
  ];
  const scope = newScope();
  let cwd: string;
  let failedStarts: CommandResult[];
  before(async () => {
    cwd = await newFolder(scope);
    const calls = invalid.map(([name, value]) => ({ args: ['serve'], env: { [name]: value } }));
    failedStarts = await runMany(calls, { cwd, env: { PORT: '0' } });
  });
  after(scope.end);
  for (const [at, [name, value, allowed]] of invalid.entries())
    it(`reject ${name}=${value} at the start`, async () => {
      const ran = failedStarts[at] as CommandResult;
      assertFailed(ran, 1, allowed);
      assert.ok(ran.stderr.includes(name) && ran.stderr.includes(value), ran.stderr);
      assert.deepEqual(readdirSync(cwd), [], 'nothing was created');
    });

  itLong('are rejected in the same way by a separate process', async () => {
    assertFailed(await run(['serve'], { cwd, env: { PORT: 'abc' } }), 1, /PORT.*abc.*65,?535/);
  });

  it('do not print an invalid METRICS_TOKEN', async (t) => {
    const env = { PORT: '0', METRICS_TOKEN: 'open sesame' };
    const ran = await call(['serve'], { cwd: await newFolder(t), env });
    assertFailed(ran, 1, /METRICS_TOKEN/);
    assert.doesNotMatch(ran.stderr, /open|sesame/);
  });

  it('do not print the password of an invalid DATABASE_URL', async (t) => {
    const env = { PORT: '0', DATABASE_URL: 'mysql://root:hunter2@host/db' };
    const ran = await call(['serve'], { cwd: await newFolder(t), env });
    assertFailed(ran, 1, /DATABASE_URL.*mysql/);
    assert.doesNotMatch(ran.stderr, /hunter2/);
  });

  it('accept postgres:// as a DATABASE_URL', async (t) => {
    const env = { DATABASE_URL: `postgres://127.0.0.1:${await freePort()}/none`, DATABASE_WAIT: '0' };
    const { code, stderr } = await call(['migrate'], { cwd: await newFolder(t), env });
    assert.equal(code, 1, 'nothing listens there');
    assert.match(stderr, oneLine);
    assert.doesNotMatch(stderr, /must be/);
  });

  itLong('are all optional', async (t) => {
    const cwd = await newFolder(t);
    let failure = '';
    const serving = await serve(t, { cwd, env: { PORT: undefined } }).catch(({ message }: Error) => {
      failure = message;
    });
    // The default port may be in use on this machine; then that is the only error.
    if (!serving) return assert.match(failure, /5001.*in use/);
    assert.equal(serving.base, 'http://127.0.0.1:5001');
    assert.ok(existsSync(databaseIn(cwd)));
  });

  it('take effect all together', async (t) => {
    const cwd = await newFolder(t);
    const { one, records } = makeTwoTenants();
    const env = {
      HOST: '0.0.0.0',
      PORT: String(await freePort()),
      DATABASE_URL: `sqlite:${join(cwd, 'deep', 'er', 'own.db')}`,
      PAGE_ORDER: 'oldest_first',
      LOG_LEVEL: 'silent',
      RATE_LIMIT: '2',
      METRICS_TOKEN: 'sesame',
    };
    const messages = [message(one.ids.conversation, 1), message(one.ids.conversation, 2)];
    assertSuccess(await call(['import', '-'], { cwd, env, stdin: ndjson([...records, ...messages]) }));
    const serving = await serve(t, { cwd, env });
    assert.ok(await reaches(serving, '127.0.0.2'));
    assert.equal((await sendRequest(serving.base, '/metrics', 'sesame')).status, 200);
    const path = `/v1/messages?conversation_id=${one.ids.conversation}`;
    const replies = await Promise.all(Array.from({ length: 6 }, () => sendRequest(serving.base, path, one.keys.app)));
    const page = replies.find(({ status }) => status === 200);
    assert.deepEqual(
      pluck(page?.body.data, 'id'),
      messages.map(({ id }) => id),
    );
    const rejected = replies.find(({ status }) => status === 429);
    assert.match(rejected?.headers.get('retry-after') ?? '', /^\d+$/);
    assert.equal(serving.output(), '');
    assert.ok(existsSync(join(cwd, 'deep', 'er', 'own.db')));
    assert.ok(!existsSync(databaseIn(cwd)));
  });

  it('report a HOST that is not this machine in one clear line', async (t) => {
    const env = { HOST: '192.0.2.1', PORT: '0', LOG_LEVEL: 'silent' };
    assertFailed(await call(['serve'], { cwd: await newFolder(t), env }), 1, /192\.0\.2\.1/);
  });

  it('are read from .env in the working directory, and the environment takes precedence', async (t) => {
    const cwd = await newFolder(t);
    await writeFile(join(cwd, '.env'), 'DATABASE_URL=sqlite:from-file.db\nPAGE_ORDER=up\n');
    assertFailed(await call(['migrate'], { cwd }), 1, /PAGE_ORDER.*up/);
    assertSuccess(await call(['migrate'], { cwd, env: { PAGE_ORDER: 'oldest_first' } }));
    assert.ok(existsSync(join(cwd, 'from-file.db')));
    assertSuccess(await call(['migrate'], { cwd, env: { PAGE_ORDER: '', DATABASE_URL: 'sqlite:given.db' } }));
    assert.ok(existsSync(join(cwd, 'given.db')));
  });
});

describe('import and export', parallel, () => {
  it('accept one file, several files and standard input', async (t) => {
    const cwd = await newFolder(t);
    const { ids, records } = makeTenant();
    const parts = [records.slice(0, 3), records.slice(3, 6), records.slice(6)];
    for (const [at, part] of parts.entries()) await writeFile(join(cwd, `${at}.ndjson`), ndjson(part));
    const several = assertSuccess(
      await call(['import', '0.ndjson', '-', '2.ndjson'], { cwd, stdin: ndjson(parts[1] ?? []) }),
    );
    assert.match(several, RegExp(`\\b${records.length}\\b`));
    const one = await newFolder(t);
    await writeFile(join(one, 'all.ndjson'), ndjson(records));
    assertSuccess(await call(['import', 'all.ndjson'], { cwd: one }));
    const text = await exportAll(one);
    assert.equal(text.trimEnd().split('\n').length, records.length);
    assert.ok(text.includes(ids.chunk));
    const withoutTimes = (lines: string) => lines.replaceAll(/"(created|updated)_at":\d+/g, '');
    assert.equal(withoutTimes(await exportAll(cwd)), withoutTimes(text));
  });

  it('report the first invalid line and store nothing', async (t) => {
    const cwd = await newFolder(t);
    const { ids, records } = makeTenant();
    const good = [...records, ...Array.from({ length: 5 }, (_, at) => message(ids.conversation, at))];
    assert.equal(good.length, 16);
    const lines = [...good, message(randomUUID(), 1), { record: 'nonsense' }];
    await writeFile(join(cwd, 'bad.ndjson'), ndjson(lines));
    assertFailed(await call(['import', 'bad.ndjson'], { cwd }), 1, /^line 17: message: conversation_id /);
    assert.equal(await contents(cwd), '');
  });

  it('are all or nothing across files', async (t) => {
    const { ids, records } = makeTenant();
    const existing = [{ record: 'workspace', id: randomUUID(), name: 'kept' }];
    const cwd = await newDatabase(t, existing);
    const earlier = await contents(cwd);
    await writeFile(join(cwd, 'good.ndjson'), ndjson(records));
    const bad = ndjson([message(ids.conversation, 1), message(ids.conversation, 2, { colour: 'red' })]);
    await writeFile(join(cwd, 'bad.ndjson'), bad);
    const ran = await call(['import', 'good.ndjson', 'bad.ndjson'], { cwd });
    assertFailed(ran, 1, /line 2: message: .*colour/);
    assert.match(ran.stderr, /bad\.ndjson/, 'the invalid one of several files is named');
    assert.equal(await contents(cwd), earlier);
    assertFailed(await call(['import', 'good.ndjson', 'missing.ndjson'], { cwd }), 1, /missing\.ndjson/);
    assert.equal(await contents(cwd), earlier);
    assertFailed(await call(['import', '-'], { cwd, stdin: '{"record":\n' }), 1, /^line 1: /);
  });

  it('report the first invalid line of a file that several threads validate, and preserve the order of a valid one', async (t) => {
    const cwd = await newFolder(t);
    const { ids, records } = makeTenant();
    const count = shortOrLong(3_500, 60_000);
    const [early, late, last] = [count - 3_000, count - 1_000, count - 250];
    const one = { ...message(ids.conversation, 1), answer: 'é'.repeat(400), created_at: 1 };
    const line = (at: number) => JSON.stringify({ ...one, id: randomUUID(), query: `${at}` });
    const good = [
      ...records.map((record) => JSON.stringify(record)),
      ...Array.from({ length: count }, (_, at) => line(at)),
    ];
    const dangling = JSON.stringify({ ...one, conversation_id: randomUUID() });
    const cases: [Record<number, string>, RegExp][] = [
      [{ [early]: '{"record":', [early + 1]: '[]', [late]: '{' }, new RegExp(`^line ${early}: not JSON`)],
      [
        { [early]: dangling, [early + 1]: '[]', [late]: dangling },
        new RegExp(`^line ${early}: message: conversation_id does not exist`),
      ],
      [
        { [late]: '{"record":"message","answer":"\\u0000"}', [last]: '{' },
        new RegExp(`^line ${late}: message: \\w+ is required`),
      ],
    ];
    for (const [invalidLines, expected] of cases) {
      const lines = good.map((text, at) => invalidLines[at + 1] ?? text);
      await writeFile(join(cwd, 'large.ndjson'), lines.join('\n'));
      assertFailed(await call(['import', 'large.ndjson'], { cwd }), 1, expected);
    }
    assert.equal(await exportAll(cwd), '');
    await writeFile(join(cwd, 'large.ndjson'), good.join('\n'));
    assertSuccess(await call(['import', 'large.ndjson'], { cwd }));
    const queries = [...(await exportAll(cwd)).matchAll(/"query":"(\d+)"/g)].map(([, query]) => Number(query));
    assert.deepEqual(
      queries,
      Array.from({ length: count }, (_, at) => at),
    );
  });

  it('write an export file for its owner only, completely or not at all', async (t) => {
    const cwd = await newDatabase(t, makeTenant().records);
    const text = await exportAll(cwd);
    await writeFile(join(cwd, 'out.ndjson'), 'what was there before', { mode: 0o644 });
    assertSuccess(await call(['export', 'out.ndjson'], { cwd }));
    assert.equal(readFileSync(join(cwd, 'out.ndjson'), 'utf8'), text);
    assert.equal(statSync(join(cwd, 'out.ndjson')).mode & 0o777, 0o600);
    assertFailed(
      await call(['export', 'no/such/folder.ndjson'], { cwd }),
      1,
      /^no\/such\/folder\.ndjson: no such file or folder$/m,
    );
    assertFailed(await call(['export', 'data'], { cwd }), 1, /^data: is a folder$/m);
    // If the export fails, the existing file stays and no partial file is left.
    const brokenDatabase = { DATABASE_URL: 'sqlite:broken.db' };
    await writeFile(join(cwd, 'broken.db'), 'this is not a database, not at all'.repeat(1_000));
    assertFailed(await call(['export', 'out.ndjson'], { cwd, env: brokenDatabase }), 1, /./);
    assert.equal(readFileSync(join(cwd, 'out.ndjson'), 'utf8'), text);
    assert.deepEqual(readdirSync(cwd).sort(), ['broken.db', 'data', 'out.ndjson']);
  });

  it('create no database to export, back up, list, revoke or purge', async (t) => {
    const cwd = await newFolder(t);
    const id = randomUUID();
    const calls = [
      ['export'],
      ['export', 'out'],
      ['backup', 'out'],
      ['keys', 'list'],
      ['keys', 'revoke', id],
      ['purge', '--conversation', id, '--yes'],
    ];
    const ran = await runMany(
      calls.map((args) => ({ args })),
      { cwd },
    );
    for (const one of ran) assertFailed(one, 1, /backscroll\.db/);
    assert.deepEqual(readdirSync(cwd), []);
  });
});

describe('keys', parallel, () => {
  const { ids, records } = makeTenant();
  const kinds: [string, string, string[]][] = [
    ['app', 'app-', ['--app', ids.app]],
    ['writer', 'writer-', ['--app', ids.app.toUpperCase()]],
    ['knowledge', 'dataset-', ['--workspace', ids.workspace]],
    ['knowledge', 'dataset-', ['--workspace', ids.workspace, '--dataset', ids.dataset]],
    ['admin', 'admin-', []],
  ];

  it('are created for every kind, printed once, listed without secrets, and revoked', async (t) => {
    const cwd = await newDatabase(t, records);
    const calls = kinds.map(([kind, , scopeOptions], at) => ({
      args: [
        'keys',
        'create',
        '--kind',
        kind,
        ...scopeOptions,
        '--name',
        `key number ${at}`,
        '--expires',
        '90d',
        '--json',
      ],
    }));
    const created = (await runMany(calls, { cwd })).map((ran, at) => {
      const stdout = assertSuccess(ran);
      assert.match(stdout, oneLine);
      const { id, secret } = JSON.parse(stdout) as { id: string; secret: string };
      const prefix = kinds[at]?.[1] ?? '';
      assert.ok(secret.startsWith(prefix));
      assert.ok(secret.length >= prefix.length + 27, 'room for 160 random bits');
      return { id, secret, name: `key number ${at}` };
    });
    const plain = assertSuccess(await call(['keys', 'create', '--kind', 'admin'], { cwd }));
    const secret = /admin-\S+/.exec(plain)?.[0] ?? '';
    assert.equal(plain.split(secret).length, 2, 'once');

    const now = Date.now() / 1000;
    const keys = new Map(parseLines(await contents(cwd)).map((record) => [record.id, record]));
    for (const { id } of created) {
      const { created_at, expires_at, revoked_at } = keys.get(id);
      assert.ok(Math.abs(created_at - now) < 60);
      assert.equal(expires_at - created_at, 90 * 86_400);
      assert.equal(revoked_at, null);
    }
    assert.equal(created.map(({ id }) => keys.get(id).dataset_ids).filter((one) => one?.[0] === ids.dataset).length, 1);

    const list = assertSuccess(await call(['keys', 'list'], { cwd }));
    const day = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 10);
    for (const { id, name, secret: printed } of created) {
      const row = list.split('\n').find((line) => line.includes(id)) ?? '';
      const { kind, app_id, workspace_id, dataset_ids, created_at, expires_at } = keys.get(id);
      const scopeId = kind === 'admin' ? kind : (app_id ?? dataset_ids?.[0] ?? workspace_id);
      for (const part of [name, kind, scopeId, day(created_at), day(expires_at)]) assert.ok(row.includes(part), row);
      assert.ok(!list.includes(printed));
    }
    assert.ok(!list.includes(secret));

    const { id } = created[0] ?? { id: '' };
    assertSuccess(await call(['keys', 'revoke', id.toUpperCase()], { cwd }));
    const first = /"revoked_at":\d+/.exec(await contents(cwd))?.[0];
    assert.ok(first);
    assertSuccess(await call(['keys', 'revoke', id], { cwd }));
    const unknown = await call(['keys', 'revoke', randomUUID()], { cwd });
    assertFailed(unknown, 1, /key/);
  });

  it('require an existing app, workspace or dataset', async (t) => {
    const other = makeTenant();
    const cwd = await newDatabase(t, [...records, ...other.records]);
    const earlier = await contents(cwd);
    const id = randomUUID();
    const invalid: [string[], string][] = [
      [['--kind', 'app', '--app', id], id],
      [['--kind', 'writer', '--app', 'nonsense'], 'nonsense'],
      [['--kind', 'knowledge', '--workspace', id], id],
      [['--kind', 'knowledge', '--workspace', ids.workspace, '--dataset', other.ids.dataset], other.ids.dataset],
    ];
    const ran = await runMany(
      invalid.map(([options]) => ({ args: ['keys', 'create', ...options] })),
      { cwd },
    );
    for (const [at, [, named]] of invalid.entries()) assertFailed(ran[at] as CommandResult, 1, RegExp(named));
    assert.equal(await contents(cwd), earlier);
  });
});

describe('a service and commands on the same file', () => {
  const world = makeTwoTenants();
  const { one, admin, records } = world;
  const { ids } = one;
  const models = '/v1/workspaces/current/models/model-types/llm';
  let cwd: string;
  let serving: ServerProcess;
  const scope = newScope();
  before(async () => {
    cwd = await newDatabase(scope, [...records, message(ids.conversation, 1)]);
    serving = await serve(scope, { cwd });
  });
  after(scope.end);

  describe('while it runs', parallel, () => {
    it('only this machine reaches it unless HOST is set', async () => {
      assert.deepEqual([await reaches(serving, '127.0.0.1'), await reaches(serving, '127.0.0.2')], [true, false]);
      assert.equal(await reaches(serving, '::1'), false);
    });

    it('a new key is accepted at once, and rejected at once after its revocation', async () => {
      const args = ['keys', 'create', '--kind', 'app', '--app', ids.app, '--json'];
      const { id, secret } = JSON.parse(assertSuccess(await call(args, { cwd })));
      assert.equal((await sendRequest(serving.base, models, secret)).status, 200);
      const page = `/v1/messages?conversation_id=${ids.conversation}`;
      assert.equal((await sendRequest(serving.base, page, secret)).status, 200);
      assertSuccess(await call(['keys', 'revoke', id], { cwd }));
      for (const path of [page, models])
        assert.equal((await sendRequest(serving.base, path, secret)).status, 401, path);
    });

    it('a key is created read-only, and changed to read-write and back, while the service runs', async () => {
      const args = ['keys', 'create', '--kind', 'app', '--app', ids.app, '--read-only', '--json'];
      const { id, secret } = JSON.parse(assertSuccess(await call(args, { cwd })));
      const rename = async () => {
        const path = `/v1/conversations/${ids.conversation}/name`;
        return (await sendRequest(serving.base, path, secret, { method: 'POST', json: { name: 'New' } })).status;
      };
      const access = async () => {
        const list = assertSuccess(await call(['keys', 'list'], { cwd }));
        return /read-\w+/.exec(list.split('\n').find((line) => line.startsWith(id)) ?? '')?.[0];
      };
      assert.equal((await sendRequest(serving.base, '/v1/conversations', secret)).status, 200);
      assert.deepEqual([await rename(), await access()], [403, 'read-only']);
      const printed = assertSuccess(await call(['keys', 'update', id.toUpperCase(), '--read-write'], { cwd }));
      assert.match(printed, /is now read-write$/m);
      assert.deepEqual([await rename(), await access()], [200, 'read-write']);
      assert.match(assertSuccess(await call(['keys', 'update', id, '--read-only'], { cwd })), /is now read-only$/m);
      assert.deepEqual([await rename(), await access()], [403, 'read-only']);
      assertFailed(await call(['keys', 'update', randomUUID(), '--read-only'], { cwd }), 1, /key not found/);
      const editor = ['keys', 'create', '--kind', 'admin', '--role', 'editor', '--read-only', '--json'];
      const admin = JSON.parse(assertSuccess(await call(editor, { cwd })));
      assert.match(assertSuccess(await call(['keys', 'list'], { cwd })), / editor, read-only /);
      assert.match(
        assertSuccess(await call(['keys', 'update', admin.id, '--role', 'viewer'], { cwd })),
        /viewer, read-only$/m,
      );
    });

    it('a key is rejected when it expires', async () => {
      const args = ['keys', 'create', '--kind', 'admin', '--expires', '2s', '--json'];
      const { secret } = JSON.parse(assertSuccess(await call(args, { cwd })));
      await until(async () => (await sendRequest(serving.base, '/metrics', secret)).status === 401);
    });

    it('a restricted key authorizes its datasets only', async () => {
      const args = ['keys', 'create', '--kind', 'knowledge', '--workspace', ids.workspace, '--dataset', ids.dataset];
      const { secret } = JSON.parse(assertSuccess(await call([...args, '--json'], { cwd })));
      assert.equal((await sendRequest(serving.base, one.chunkPath, secret)).status, 200);
      const other = makeTenant();
      const dataset = { record: 'dataset', id: other.ids.dataset, workspace_id: ids.workspace, name: 'second' };
      assertSuccess(await call(['import', '-'], { cwd, stdin: ndjson([dataset, ...other.records.slice(6, 9)]) }));
      assert.equal((await sendRequest(serving.base, other.chunkPath, one.keys.knowledge)).status, 200);
      const { status, body } = await sendRequest(serving.base, other.chunkPath, secret);
      assert.deepEqual([status, body.message], [404, 'dataset not found']);
      const both = JSON.parse(assertSuccess(await call([...args, other.ids.dataset, '--json'], { cwd })));
      assert.equal((await sendRequest(serving.base, one.chunkPath, both.secret)).status, 200);
      assert.equal((await sendRequest(serving.base, other.chunkPath, both.secret)).status, 200);
    });

    it('an import is visible at once', async () => {
      const path = `/v1/messages?conversation_id=${ids.conversation}&limit=1`;
      const before = await sendRequest(serving.base, path, one.keys.app);
      const added = message(ids.conversation, 2_000_000_000);
      assertSuccess(await call(['import', '-'], { cwd, stdin: ndjson([added]) }));
      const page = await sendRequest(serving.base, path, one.keys.app);
      assert.equal(page.body.data[0].id, added.id);
      assert.notEqual(page.headers.get('etag'), before.headers.get('etag'));
    });

    it('an export contains what was just written', async () => {
      const content = `written ${randomUUID()}`;
      const { status } = await sendRequest(serving.base, one.chunkPath, one.keys.knowledge, {
        method: 'PATCH',
        json: { content },
      });
      assert.equal(status, 200);
      assert.ok((await exportAll(cwd)).includes(content));
      assertSuccess(await call(['migrate'], { cwd }));
      assert.equal((await sendRequest(serving.base, '/metrics', admin)).status, 200);
    });
  });

  it('completes requests in flight after SIGINT, then exits with 0', (t) =>
    stopDuringRequest(t, 'SIGINT', { ...world, cwd, serving }));

  // In `npm test`, `shutdown.test.ts` sends SIGTERM.
  itLong('completes requests in flight after SIGTERM, then exits with 0', async (t) => {
    const cwd = await newDatabase(t, records);
    await stopDuringRequest(t, 'SIGTERM', { ...world, cwd, serving: await serve(t, { cwd }) });
  });
});

/** Sends a service a signal while it waits for the rest of a request. */
async function stopDuringRequest(
  t: Scope,
  signal: NodeJS.Signals,
  { one, admin, cwd, serving }: ReturnType<typeof makeTwoTenants> & { cwd: string; serving: ServerProcess },
): Promise<void> {
  // Idle keep-alive connections, old or new, do not delay the shutdown.
  const agent = new http.Agent({ keepAlive: true });
  t.after(async () => agent.destroy());
  http.get(`${serving.base}/health/live`, { agent }).once('response', (response) => response.resume());
  const line = ndjson([message(one.ids.conversation, 1, { query: `sent during ${signal}` })]);
  const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/x-ndjson' };
  const request = http.request(`${serving.base}/admin/records`, { method: 'POST', headers, agent });
  request.write(line.slice(0, 20));
  await until(async () => {
    const { text } = await sendRequest(serving.base, '/metrics', admin);
    // This request is in flight too.
    return text.includes('backscroll_http_requests_in_flight 2\n');
  });
  serving.signal(signal);
  await until(() => serving.output().includes('shutting down'));
  request.end(line.slice(20));
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  assert.deepEqual([response.statusCode, Buffer.concat(chunks).toString()], [200, '{"records":1}']);
  assert.deepEqual(await serving.ended, { code: 0, signal: null });
  assert.doesNotMatch(serving.output(), /stopped before everything was finished/);
  assert.ok((await contents(cwd)).includes(`sent during ${signal}`));
  await assert.rejects(fetch(`${serving.base}/health/live`));
}

describe('purge', parallel, () => {
  /** The same id for the same name in every run, so that the file always has the same pages. */
  const idOf = (name: string): string =>
    createHash('sha256')
      .update(name)
      .digest('hex')
      .slice(0, 32)
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

  /** Three users with two conversations each. Their texts contain a marker, and their messages are interleaved. */
  function makeUsers() {
    const { one, admin, records } = makeTwoTenants();
    const { ids, keys } = one;
    const users = ['ann', 'bob', 'cid'].map((name) => {
      const marker = `a-marker-of-${name}-${name}-${name}`;
      const conversations = [idOf(`${name} 0`), idOf(`${name} 1`)];
      const conversationRecords = conversations.map((id) => ({
        record: 'conversation',
        id,
        app_id: ids.app,
        user: marker,
      }));
      return { name, marker, conversations, conversationRecords };
    });
    const [ann, bob, cid] = users as [(typeof users)[0], (typeof users)[0], (typeof users)[0]];
    /** All messages again, with different sizes and times in each round, so that pages split, merge and move. */
    const round = (number: number) =>
      Array.from({ length: 30 }, (_, at) =>
        users.map(({ name, marker, conversations }, which) => ({
          record: 'message',
          id: idOf(`${name} message ${at}`),
          conversation_id: conversations[at % 2],
          created_at: (at * 7 + number * 11) % 31,
          query: `${marker} asks`,
          answer: marker.repeat((at * 13 + number * 29 + which * 17) % 97),
          inputs: { [marker]: marker },
        })),
      ).flat();
    const first = [...records, ...users.flatMap((user) => user.conversationRecords), ...round(0)];
    return { ids, keys, admin, ann, bob, cid, first, round };
  }

  it('deletes a conversation, and all conversations of a user, permanently, and shrinks the file while a service reads', async (t) => {
    const { ids, keys, admin, ann, bob, cid, first, round } = makeUsers();
    const cwd = await newDatabase(t, first);
    const serving = await serve(t, { cwd });
    for (let number = 1; number <= shortOrLong(4, 12); number += 1) {
      const lines = ndjson(round(number));
      const { status } = await sendRequest(serving.base, '/admin/records', admin, { method: 'POST', lines });
      assert.equal(status, 200);
    }
    for (const { marker } of [ann, bob, cid]) assert.notDeepEqual(filesContaining(databaseIn(cwd), marker), []);
    const page = (id: string | undefined, limit = 20) =>
      sendRequest(serving.base, `/v1/messages?conversation_id=${id}&limit=${limit}`, keys.app);
    let isDone = false;
    const read = async (id: string): Promise<void> => {
      for (let pages = 1; !isDone || pages <= 10; pages += 1) {
        // A different page each time, so that it comes from the mapped file and not from a cache.
        const { status, body } = await page(id, 1 + (pages % 100));
        assert.deepEqual([status, body.data.length], [200, Math.min(15, 1 + (pages % 100))]);
      }
    };
    const readers = Promise.all(cid.conversations.map(read));
    t.after(async () => {
      isDone = true;
      await readers.catch(() => undefined);
    });

    const purged = await call(['purge', '--app', ids.app, '--user', ann.marker, '--yes'], { cwd });
    const output = assertSuccess(purged);
    assert.match(output, /\b2\b.*conversation/);
    assert.match(output, /\b30\b.*message/);
    assert.deepEqual(filesContaining(databaseIn(cwd), ann.marker), [], 'no byte of it is left');
    const before = statSync(databaseIn(cwd)).size;

    const [purgedId = '', remainingId] = bob.conversations;
    const one = assertSuccess(await call(['purge', '--conversation', purgedId.toUpperCase(), '--yes'], { cwd }));
    assert.match(one, /\b1\b.*conversation/);
    assert.match(one, /\b15\b.*message/);

    isDone = true;
    await readers;
    assert.ok(statSync(databaseIn(cwd)).size < before);
    for (const id of [...ann.conversations, purgedId]) {
      const { status, body } = await page(id);
      assert.deepEqual([status, body.message], [404, 'conversation not exists']);
    }
    for (const id of [remainingId, ...cid.conversations]) {
      const { status, body } = await page(id);
      assert.deepEqual([status, body.data?.length], [200, 15]);
    }
    const text = await contents(cwd);
    assert.ok(!text.includes(ann.marker) && !text.includes(purgedId));
    // Purging the second conversation removes the remaining markers of this user.
    assertSuccess(await call(['purge', '--conversation', remainingId ?? '', '--yes'], { cwd }));
    assert.deepEqual(filesContaining(databaseIn(cwd), bob.marker), []);
    assert.match(assertSuccess(await call(['purge', '--conversation', purgedId, '--yes'], { cwd })), /\b0\b/);
  });

  it('leaves no byte behind while another process reads', async (t) => {
    const { ids, ann, first } = makeUsers();
    const cwd = await newDatabase(t, first);
    const reader = new DatabaseSync(databaseIn(cwd));
    t.after(async () => void (reader.isOpen && reader.close()));
    reader.exec('BEGIN');
    reader.prepare('SELECT COUNT(*) FROM schema_migrations').get();
    const args = ['purge', '--app', ids.app, '--user', ann.marker, '--yes'];
    const pending = call(args, { cwd });
    // If the purge waits for the reader, it continues when the reader is done, some time after the rows are deleted.
    const observer = new DatabaseSync(databaseIn(cwd));
    t.after(async () => observer.close());
    const rows = observer.prepare('SELECT 1 FROM messages WHERE conversation_id = ?');
    await until(() => rows.get(ann.conversations[0] ?? '') === undefined);
    assert.notDeepEqual(filesContaining(databaseIn(cwd), ann.marker), []);
    reader.exec('COMMIT');
    const { code, stderr } = await pending;
    // On a slow machine it may have ended the wait for the reader before; then it says so.
    const left = filesContaining(databaseIn(cwd), ann.marker);
    assert.equal(code, 0);
    assert.ok(/files/.test(stderr) || left.length === 0, `${stderr} left in ${JSON.stringify(left)}`);
  });

  it('is named by an import of what was erased, with its time', async (t) => {
    const { records, one } = makeTwoTenants();
    const lines = ndjson([...records, message(one.ids.conversation, 1)]);
    const cwd = await newDatabase(t, [...records, message(one.ids.conversation, 2)]);
    const [purged, imported] = await runMany(
      [{ args: ['purge', '--conversation', one.ids.conversation, '--yes'] }, { args: ['import', 'old.ndjson'] }],
      { cwd: await writeFile(join(cwd, 'old.ndjson'), lines).then(() => cwd) },
    );
    assert.equal(purged?.code, 0);
    const day = new Date().toISOString().slice(0, 4);
    assert.match(
      imported?.stdout ?? '',
      new RegExp(
        `^imported \\d+ records in .*\\n2 of them were erased here before, the last one on ${day}-.*Z; they are stored again\\n$`,
      ),
    );
  });

  it('asks for confirmation and accepts only yes', async (t) => {
    const { ids, ann, first } = makeUsers();
    const cwd = await newDatabase(t, first);
    const args = ['purge', '--app', ids.app, '--user', ann.marker];
    const earlier = await contents(cwd);
    for (const stdin of ['n\n', '\n', 'maybe\n', '']) {
      const { code, stdout, stderr } = await call(args, { cwd, stdin });
      assert.match(stdout + stderr, /\?/, 'a question');
      if (stdin === '') assert.notEqual(code, 0, 'no answer');
    }
    assert.equal(await contents(cwd), earlier);
    const { code, stdout } = await call(args, { cwd, stdin: 'y\n' });
    assert.equal(code, 0);
    assert.match(stdout, /\b2\b.*conversation/);
    assert.ok(!(await contents(cwd)).includes(ann.marker));
    assert.deepEqual(filesContaining(databaseIn(cwd), ann.marker), []);
  });
});

describe('migrate', parallel, () => {
  it('creates the schema; --status only reports', async (t) => {
    const cwd = await newFolder(t);
    assert.match(assertSuccess(await call(['migrate', '--status'], { cwd })), /./);
    assert.deepEqual(readdirSync(cwd), []);
    assertSuccess(await call(['migrate'], { cwd }));
    assert.equal(statSync(databaseIn(cwd)).mode & 0o077, 0, 'for its owner only');
    const bytes = readFileSync(databaseIn(cwd));
    assert.match(assertSuccess(await call(['migrate', '--status'], { cwd })), /up to date/);
    assertSuccess(await call(['migrate'], { cwd }));
    assert.deepEqual(readFileSync(databaseIn(cwd)), bytes);
  });

  it('--status leaves an empty file unchanged', async (t) => {
    const cwd = await newFolder(t);
    await writeFile(join(cwd, 'empty.db'), '');
    const env = { DATABASE_URL: 'sqlite:empty.db' };
    assert.doesNotMatch(assertSuccess(await call(['migrate', '--status'], { cwd, env })), /up to date/);
    assert.deepEqual([readdirSync(cwd), statSync(join(cwd, 'empty.db')).size], [['empty.db'], 0]);
    assertSuccess(await call(['migrate'], { cwd, env }));
    assert.match(assertSuccess(await call(['migrate', '--status'], { cwd, env })), /up to date/);
  });

  it('makes every command reject a newer schema and leave it unchanged', async (t) => {
    const cwd = await newDatabase(t, makeTenant().records);
    const db = new DatabaseSync(databaseIn(cwd));
    db.exec("INSERT INTO schema_migrations (version, name, applied_at) VALUES (4711, 'from the future', 1)");
    db.close();
    const bytes = readFileSync(databaseIn(cwd));
    const env = { PORT: '0', LOG_LEVEL: 'silent' };
    const calls = [['serve'], ['import', starterRecords], ['migrate'], ['export'], ['backup', 'out'], ['keys', 'list']];
    const ran = await runMany(
      calls.map((args) => ({ args })),
      { cwd, env },
    );
    for (const one of ran) assertFailed(one, 1, /newer/);
    assert.deepEqual(readFileSync(databaseIn(cwd)), bytes);
  });

  it('reports a file that is not a database in one clear line', async (t) => {
    const cwd = await newFolder(t);
    await writeFile(join(cwd, 'text.db'), 'Dear diary, '.repeat(500));
    const env = { DATABASE_URL: 'sqlite:text.db', PORT: '0', LOG_LEVEL: 'silent' };
    assertFailed(await call(['serve'], { cwd, env }), 1, /database/);
  });

  it('lets several processes migrate a new file at once', async (t) => {
    const cwd = await newFolder(t);
    const ran = await Promise.all(Array.from({ length: shortOrLong(2, 8) }, () => run(['migrate'], { cwd })));
    for (const one of ran) assertSuccess(one);
  });

  itLong('lets several processes start at once on a new file', async (t) => {
    const cwd = await newFolder(t);
    const servings = await Promise.all(Array.from({ length: 4 }, () => serve(t, { cwd })));
    const { keys, records } = makeTenant();
    assertSuccess(await call(['import', '-'], { cwd, stdin: ndjson(records) }));
    for (const { base } of servings) {
      const { status } = await sendRequest(base, '/v1/workspaces/current/models/model-types/llm', keys.app);
      assert.equal(status, 200);
    }
  });
});

describe('the launcher', parallel, () => {
  async function withOldNode(scope: Scope): Promise<{ cwd: string; env: Settings }> {
    const cwd = await newFolder(scope);
    const fake = join(cwd, 'old', 'node');
    await mkdir(join(cwd, 'old'));
    await writeFile(fake, '#!/bin/sh\necho v20.0.0\nexit 77\n');
    await chmod(fake, 0o755);
    return { cwd, env: { PATH: [join(cwd, 'old'), '/usr/bin', '/bin'].join(delimiter) } };
  }

  it('starts the pinned Node.js, whatever PATH contains', async (t) => {
    const options = await withOldNode(t);
    const shell = { ...options, command: '/bin/sh', before: ['-c', 'exec "$0" "$@"', command] };
    assert.match(assertSuccess(await run(['--help'], shell)), /usage/i);
  });

  /** A copy of the program without packages, which only `serve` needs. */
  async function copyProgram(scope: Scope): Promise<{ cwd: string; readVersion: () => Promise<string> }> {
    const cwd = await newFolder(scope);
    for (const name of ['bin', 'src', 'package.json']) {
      await cp(join(repository, 'server', name), join(cwd, name), { recursive: true });
    }
    const env = { NODE_COMPILE_CACHE: undefined };
    const options = { cwd, env, command: process.execPath, before: [join(cwd, 'bin', 'backscroll.js')] };
    return { cwd, readVersion: async () => assertSuccess(await run(['--version'], options)) };
  }

  itLong('caches compiled code next to the program, readable only by its owner', async (t) => {
    const { cwd, readVersion } = await copyProgram(t);
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    assert.equal(await readVersion(), `${version}\n`);
    assert.equal(statSync(join(cwd, '.cache')).mode & 0o777, 0o700);
    assert.ok(readdirSync(join(cwd, '.cache'), { recursive: true }).length > 5);
    assert.equal(await readVersion(), `${version}\n`);
  });

  itLong('runs without the cache if it cannot be written', async (t) => {
    const { cwd, readVersion } = await copyProgram(t);
    await writeFile(join(cwd, '.cache'), '');
    assert.match(await readVersion(), /^\d/);
  });

  it('prints one clear line on a Node.js that is too old', async (t) => {
    const cwd = await newFolder(t);
    const preload = join(cwd, 'preload.cjs');
    await writeFile(
      preload,
      `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } });
       Object.defineProperty(process, 'version', { value: 'v20.19.0' });`,
    );
    const options = { cwd, command: process.execPath, before: ['-r', preload, launcher] };
    assertFailed(await run(['--help'], options), 1, /Node.*20\.19\.0/);
  });
});
