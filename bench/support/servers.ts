import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { settings } from '../../server/src/config.ts';

export const command = fileURLToPath(new URL('../../server/bin/backscroll.js', import.meta.url));

/** The path of a bench file that runs as a separate process. */
export const script = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url));

const children = new Set<ChildProcess>();
const graceMillis = 5_000;
const startMillisMax = 60_000;
/** Settings in the user's environment must not affect the measurement: an empty value means the default. */
const defaults = Object.fromEntries(
  ['HOST', 'LOG_LEVEL', 'PAGE_ORDER', 'RATE_LIMIT', 'WRITE_LIMIT', 'DATABASE_POOL', 'DATABASE_PREPARED'].map((name) => [
    name,
    '',
  ]),
);

/** Tracks a child process until it exits, so that none outlives the bench. */
export function track<T extends ChildProcess>(child: T): T {
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

export async function end(child: ChildProcess): Promise<void> {
  if (!children.has(child)) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMillis);
  await exited;
  clearTimeout(timer);
}

export async function endAll(): Promise<void> {
  await Promise.all([...children].map(end));
}

/** A child process that listens on this machine. Its output goes to a file, as in production. */
export type Server = { port: number; child: ChildProcess; log: string; stop: () => Promise<void> };

let count = 0;

/** A server that Node.js runs. */
export function startServer(folder: string, argv: string[], env: NodeJS.ProcessEnv = {}): Promise<Server> {
  return startProgram(folder, process.execPath, argv, env);
}

/** Resolves once the server has logged its address. */
export async function startProgram(
  folder: string,
  program: string,
  argv: string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Server> {
  const log = join(folder, `server-${(count += 1)}.log`);
  const output = openSync(log, 'w');
  const child = track(
    spawn(program, argv, {
      env: { ...process.env, ...defaults, PORT: '0', ...env },
      stdio: ['ignore', output, output],
    }),
  );
  closeSync(output);
  const deadline = performance.now() + startMillisMax;
  for (;;) {
    const port = /(?:listening|started) at [^"\s]*:(\d+)/.exec(readFileSync(log, 'utf8'))?.[1];
    if (port !== undefined) return { port: Number(port), child, log, stop: () => end(child) };
    if (!children.has(child)) throw new Error(`${argv.join(' ')} ended:\n${readFileSync(log, 'utf8')}`);
    if (performance.now() > deadline) throw new Error(`${argv.join(' ')} does not log its address`);
    await sleep(1);
  }
}

/** What the service caches by default, in MiB. */
export const pageCacheMebibytes = Number(settings.page_cache.fallback);

/**
 * With one worker, unless WORKERS is set. Each has a page cache of the default size, unless PAGE_CACHE is set, so that the
 * working set fits into it. Resolves once all of them listen.
 */
export async function startOurs(folder: string, database: string, env: NodeJS.ProcessEnv = {}): Promise<Server> {
  const workers = Number(env.WORKERS ?? 1);
  const caches = `${workers * pageCacheMebibytes}`;
  const environment = { DATABASE_URL: database, WORKERS: '1', PAGE_CACHE: caches, ...env };
  const server = await startServer(folder, [command, 'serve'], environment);
  const listening = () => readFileSync(server.log, 'utf8').match(/listening at/g)?.length ?? 0;
  const deadline = performance.now() + startMillisMax;
  while (listening() < workers) {
    if (performance.now() > deadline) throw new Error(`not all of the ${workers} workers listen`);
    await sleep(5);
  }
  return server;
}

/** A child process that handles requests from the bench, one at a time. */
export type Helper = { child: ChildProcess; request: <T>(parameters: object) => Promise<T>; stop: () => Promise<void> };

export function startHelper(name: string, ...argv: string[]): Helper {
  const child = track(fork(script(name), argv));
  const request = <T>(parameters: object): Promise<T> =>
    new Promise((resolve, reject) => {
      const fail = (code: number | null) => reject(new Error(`${name} exited with ${code}`));
      child.once('exit', fail);
      child.once('message', (result) => {
        child.off('exit', fail);
        resolve(result as T);
      });
      child.send(parameters);
    });
  return { child, request, stop: () => end(child) };
}

/** The child's side of `startHelper`: handles requests, and exits with the parent process. */
export function serveHelper<T>(handle: (parameters: T) => Promise<object> | object): void {
  process.on('message', async (parameters) => process.send?.(await handle(parameters as T)));
  process.once('disconnect', () => process.exit());
}

/** CPU seconds of a process, all threads; NaN on systems other than Linux. */
export function processorSeconds({ child }: { child: ChildProcess }): number {
  const fields = procFile(child, 'stat').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Resident memory of a process in megabytes, without mapped files. */
export function residentMegabytes({ child }: { child: ChildProcess }): number {
  return Number(/RssAnon:\s+(\d+)/.exec(procFile(child, 'status'))?.[1]) / 1024;
}

function procFile({ pid, exitCode }: ChildProcess, name: string): string {
  if (exitCode !== null) throw new Error(`the process to be measured has exited with ${exitCode}`);
  return process.platform === 'linux' ? readFileSync(`/proc/${pid}/${name}`, 'utf8') : '';
}
