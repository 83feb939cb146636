import { type ChildProcess, type ChildProcessByStdio, execFile, execFileSync, fork, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { overloaded } from '../../src/domain/errors.ts';
import { until } from './until.ts';
import type { Call, Result } from './workers/command-calls.ts';

const fromHere = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export const repository = fromHere('../../..');
/** The command as `npm ci` installs it. */
export const command = fromHere('../../../node_modules/.bin/backscroll');
export const launcher = fromHere('../../bin/backscroll.js');
export const starterRecords = fromHere('../../starter/records.ndjson');

/** Compiled code, shared by all starts of the command: of the global setup, or of this process. */
const compileCache = process.env.NODE_COMPILE_CACHE ?? mkdtempSync(join(tmpdir(), 'backscroll-cache-'));
const children = new Set<ChildProcess>();
const folders = process.env.NODE_COMPILE_CACHE ? [] : [compileCache];
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export type Settings = Record<string, string | undefined>;
type RunOptions = {
  cwd: string;
  env?: Settings | undefined;
  command?: string;
  before?: string[];
  uid?: number | undefined;
};
/** The scope of a cleanup: a test, a hook or a suite. */
export type Scope = { after: (cleanup: () => Promise<void>) => void };

/** A scope for resources that a whole suite shares. */
export function newScope(): Scope & { end: () => Promise<void> } {
  const cleanups: (() => Promise<void>)[] = [];
  return {
    after: (cleanup) => void cleanups.push(cleanup),
    end: async () => {
      for (const cleanup of cleanups.reverse()) await cleanup();
    },
  };
}

/** Runs with a scope, and ends it. */
export async function inScope<T>(use: (scope: Scope) => Promise<T>): Promise<T> {
  const scope = newScope();
  try {
    return await use(scope);
  } finally {
    await scope.end();
  }
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** Starts the command, and does not wait for it. */
export function start(args: readonly string[], options: RunOptions): Child {
  const { PATH, HOME } = process.env;
  const child = spawn(options.command ?? command, [...(options.before ?? []), ...args], {
    cwd: options.cwd,
    env: { PATH, HOME, NODE_COMPILE_CACHE: compileCache, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(options.uid !== undefined && { uid: options.uid, gid: options.uid }),
  });
  children.add(child);
  child.once('exit', () => children.delete(child));
  child.stdin.on('error', () => undefined);
  return child;
}

/** Runs the command with a limit on the size of each file it writes, in blocks of 512 bytes: imitates a full disk. */
export const withFileSizeLimit = (blocks: number) => ({
  command: '/bin/sh',
  before: ['-c', `ulimit -S -f ${blocks}; exec "$0" "$@"`, command],
});

/** Runs the command as on a terminal. */
export async function onTerminal(cwd: string): Promise<{ command: string; before: string[] }> {
  const preload = join(cwd, 'terminal.cjs');
  await writeFile(preload, 'process.stdout.isTTY = true;');
  return { command: process.execPath, before: ['-r', preload, launcher] };
}

export type CommandResult = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string };

/** Far more than a command needs on a busy machine. */
const commandMillisMax = 120_000;

/** Runs the command until it exits. Without `stdin` its input is empty. */
export async function run(
  args: readonly string[],
  options: RunOptions & { stdin?: string | Uint8Array; millisMax?: number },
): Promise<CommandResult> {
  const child = start(args, options);
  const timer = setTimeout(() => child.kill('SIGKILL'), options.millisMax ?? commandMillisMax);
  child.stdin.end(options.stdin ?? '');
  const [stdout, stderr, [code, signal]] = await Promise.all([
    read(child.stdout),
    read(child.stderr),
    once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>,
  ]);
  clearTimeout(timer);
  return { code, signal, stdout, stderr };
}

/**
 * Runs a command like `run`, but in one process for all calls, one after another: a process of its own takes a third of
 * a second of processor time. For what does not depend on the process, such as its signals or its limits.
 */
export function call(
  args: readonly string[],
  options: { cwd: string; env?: Settings | undefined; stdin?: string | Uint8Array },
): Promise<CommandResult> {
  const result = lastCall.then(() => callNow(args, options));
  lastCall = result.catch(() => undefined);
  return result;
}
let lastCall: Promise<unknown> = Promise.resolve();
let callee: ChildProcess | undefined;

async function callNow(...[args, { cwd, env, stdin = '' }]: Parameters<typeof call>): Promise<CommandResult> {
  callee ??= startCallee();
  callee.ref();
  callee.channel?.ref();
  const ended = new AbortController();
  const exit = once(callee, 'exit', ended).then(([code]) => {
    throw new Error(`the process of ${args.join(' ')} ended with ${code}`);
  });
  callee.send({ args, cwd, env: definedIn(env), stdin: Buffer.from(stdin) } satisfies Call);
  const [result] = (await Promise.race([once(callee, 'message', ended), exit])) as [Result];
  ended.abort();
  await exit.catch(() => undefined);
  // An idle process does not keep the test file from ending.
  callee.unref();
  callee.channel?.unref();
  return { ...result, signal: null };
}

function startCallee(): ChildProcess {
  const { PATH, HOME } = process.env;
  const child = fork(fromHere('./workers/command-calls.ts'), {
    env: { PATH, HOME, NODE_COMPILE_CACHE: compileCache },
    execArgv: [],
    serialization: 'advanced',
  });
  children.add(child);
  child.once('exit', () => {
    children.delete(child);
    callee = undefined;
  });
  return child;
}

/** Calls the command many times, in sequence. */
export async function runMany(
  calls: readonly { args: string[]; env?: Settings }[],
  { cwd, env }: RunOptions,
): Promise<CommandResult[]> {
  const results: CommandResult[] = [];
  for (const one of calls) results.push(await call(one.args, { cwd, env: { ...env, ...one.env } }));
  return results;
}

const definedIn = (env: Settings = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined));

async function read(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

export type ServerProcess = {
  base: string;
  pid: number;
  /** Time from the start of the process to its first ready response. */
  readyMillis: number;
  output: () => string;
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  signal: (signal: NodeJS.Signals) => void;
  /** Ends the process, whatever state it is in. */
  end: (signal?: NodeJS.Signals) => Promise<void>;
};

/** Starts `serve` as `serve` below does, but with two workers, which share the load. */
export function serveWithWorkers(scope: Scope, options: ServeOptions): Promise<ServerProcess> {
  return serve(scope, { ...options, env: { WORKERS: '2', ...options.env } });
}

type ServeOptions = RunOptions & { args?: string[] };

/**
 * Starts `serve` as a child process, with one worker, since each one takes half a second of processor time to start;
 * resolves when it is ready. On PORT=0 unless a port is set.
 */
export async function serve(scope: Scope, options: ServeOptions): Promise<ServerProcess> {
  const startedAt = performance.now();
  const child = start(['serve', ...(options.args ?? [])], {
    ...options,
    // A burst of writes on a busy machine takes longer than the default timeout.
    env: { PORT: '0', WORKERS: '1', DATABASE_TIMEOUT: '60000', ...options.env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk;
    });
  const ended = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
  const end = async (signal: NodeJS.Signals = 'SIGKILL') => {
    child.kill(signal);
    await ended;
  };
  scope.after(() => end());
  const port = Number(options.env?.PORT ?? 0);
  const untilServed = <T>(probe: () => T | Promise<T>) =>
    until(
      () => {
        if (child.exitCode !== null || child.signalCode !== null) throw new Error(`serve ended: ${output}`);
        return probe();
      },
      () => `serve is ready: ${output}`,
    );
  const base = port
    ? `http://127.0.0.1:${port}`
    : await untilServed(() => /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0]);
  await untilServed(() =>
    fetch(`${base}/health/ready`).then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  return {
    base,
    pid: child.pid ?? 0,
    readyMillis: performance.now() - startedAt,
    output: () => output,
    ended,
    signal: (signal) => void child.kill(signal),
    end,
  };
}

/** A folder that is removed after the test. */
export async function newFolder(scope: Scope): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'backscroll-cli-'));
  folders.push(folder);
  scope.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** A port that no process listens on, and that the system gives to none: below those of outgoing connections. */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = net.createServer().listen(randomInt(20_000, 32_000), '127.0.0.1');
    const port = await once(server, 'listening').then(
      () => (server.address() as AddressInfo).port,
      () => undefined,
    );
    if (port === undefined) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

export type HttpResponse = {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses freely
  body: any;
};

type RequestParts = { method?: string; json?: unknown; lines?: string; signal?: AbortSignal };

/** Sends a request. On a busy machine the service may reject it as overloaded; then it is sent again. */
export async function sendRequest(
  base: string,
  path: string,
  key: string,
  parts: RequestParts = {},
): Promise<HttpResponse> {
  for (;;) {
    const response = await sendOnce(base, path, key, parts);
    if (response.body?.message !== overloaded.message) return response;
  }
}

async function sendOnce(
  base: string,
  path: string,
  key: string,
  { method = 'GET', json, lines, signal }: RequestParts,
): Promise<HttpResponse> {
  const type = json !== undefined ? 'application/json' : lines !== undefined ? 'application/x-ndjson' : undefined;
  const body = json !== undefined ? JSON.stringify(json) : lines;
  const response = await fetch(`${base}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(type && { 'content-type': type }) },
    ...(body !== undefined && { body }),
    ...(signal && { signal }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
}

export const oneLine = /^[^\n]+\n$/;

const findInFiles = `
  const [database, text] = process.argv.slice(1);
  const contains = (file) => fs.existsSync(file) && fs.readFileSync(file).includes(text);
  console.log(JSON.stringify(['', '-wal', '-shm', '-journal'].filter((suffix) => contains(database + suffix))));`;

/**
 * The suffixes of those database files that contain this text. Another process reads them: closing a file ends all locks that a process
 * has on it, and a service in this process would lose its database to the next command that closes it.
 */
export const filesContaining = (database: string, text: string): string[] =>
  JSON.parse(execFileSync(process.execPath, ['-e', findInFiles, database, text], { encoding: 'utf8' }));

type CommandResponse = { status: number; body: { data: never } };

/** Runs a printed command unchanged, in a shell if curl is installed; ~/.curlrc makes curl print the status. */
export async function runCurl(line: string, home: string): Promise<CommandResponse> {
  await writeFile(join(home, '.curlrc'), 'write-out = "\\n%{http_code}"\n');
  const env = { ...process.env, HOME: home, CURL_HOME: home };
  const hasCurl = await promisify(execFile)('curl', ['--version']).then(
    () => true,
    () => false,
  );
  if (!hasCurl) return fetchInstead(line);
  const { stdout } = await promisify(execFile)('sh', ['-c', line], { env });
  const at = stdout.lastIndexOf('\n');
  return { status: Number(stdout.slice(at + 1)), body: JSON.parse(stdout.slice(0, at)) };
}

async function fetchInstead(line: string): Promise<CommandResponse> {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
  const valuesOf = (option: string) => words.flatMap((word, at) => (word === option ? [words[at + 1] ?? ''] : []));
  const headers = valuesOf('-H').map((header) => header.split(/:\s*/, 2) as [string, string]);
  const [body] = valuesOf('-d');
  const response = await fetch(words.find((word) => word.startsWith('http')) ?? '', {
    method: valuesOf('-X')[0] ?? (body === undefined ? 'GET' : 'POST'),
    headers,
    ...(body !== undefined && { body }),
  });
  return { status: response.status, body: (await response.json()) as CommandResponse['body'] };
}
