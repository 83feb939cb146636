import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const command = fileURLToPath(new URL('../server/bin/backscroll.js', import.meta.url));

/** A file of the bench, to run as a process of its own. */
export const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const children = new Set<ChildProcess>();
const graceMillis = 5_000;
const startMillisMax = 60_000;
/** What a person has set for a service of their own does not change what is measured: empty means the default. */
const defaults = Object.fromEntries(
  ['HOST', 'LOG_LEVEL', 'PAGE_ORDER', 'RATE_LIMIT', 'WRITE_LIMIT', 'DATABASE_POOL', 'DATABASE_PREPARED'].map((name) => [
    name,
    '',
  ]),
);

/** Remembers a child process until it is gone, so that none outlives the bench. */
export function track<T extends ChildProcess>(child: T): T {
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

export async function end(child: ChildProcess): Promise<void> {
  if (!children.has(child)) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMillis);
  await gone;
  clearTimeout(timer);
}

export async function endAll(): Promise<void> {
  await Promise.all([...children].map(end));
}

/** A child process that serves on this machine. Its output goes to a file, as an operator would have it. */
export type Server = { port: number; child: ChildProcess; log: string; stop: () => Promise<void> };

let count = 0;

/** Resolves once it says where it listens. */
export async function startServer(folder: string, argv: string[], env: NodeJS.ProcessEnv = {}): Promise<Server> {
  const log = join(folder, `server-${(count += 1)}.log`);
  const output = openSync(log, 'w');
  const child = track(
    spawn(process.execPath, argv, {
      env: { ...process.env, ...defaults, PORT: '0', ...env },
      stdio: ['ignore', output, output],
    }),
  );
  closeSync(output);
  const deadline = performance.now() + startMillisMax;
  for (;;) {
    const port = /listening at [^"\s]*:(\d+)/.exec(readFileSync(log, 'utf8'))?.[1];
    if (port !== undefined) return { port: Number(port), child, log, stop: () => end(child) };
    if (!children.has(child)) throw new Error(`${argv.join(' ')} ended:\n${readFileSync(log, 'utf8')}`);
    if (performance.now() > deadline) throw new Error(`${argv.join(' ')} does not say where it listens`);
    await sleep(1);
  }
}

/** Answers everything alike: with that many bytes, or with an empty 304. */
export function startBare(folder: string, answer: { bytes: number } | 304): Promise<Server> {
  return startServer(folder, [script('bare-http.ts'), answer === 304 ? '304' : `${answer.bytes}`]);
}

export function startOurs(folder: string, database: string, env: NodeJS.ProcessEnv = {}): Promise<Server> {
  return startServer(folder, [command, 'serve'], { DATABASE_URL: database, ...env });
}

/** A child process that is told what to do, one thing after another, and answers each. */
export type Helper = { child: ChildProcess; ask: <T>(question: object) => Promise<T>; stop: () => Promise<void> };

export function startHelper(name: string, ...argv: string[]): Helper {
  const child = track(fork(script(name), argv));
  const ask = <T>(question: object): Promise<T> =>
    new Promise((resolve, reject) => {
      const fail = (code: number | null) => reject(new Error(`${name} ended with ${code}`));
      child.once('exit', fail);
      child.once('message', (answer) => {
        child.off('exit', fail);
        resolve(answer as T);
      });
      child.send(question);
    });
  return { child, ask, stop: () => end(child) };
}

/** The other side of `startHelper`: what the child does with a question. It ends with whoever asks. */
export function serveHelper<T>(answer: (question: T) => Promise<object> | object): void {
  process.on('message', async (question) => process.send?.(await answer(question as T)));
  process.once('disconnect', () => process.exit());
}

/** Seconds of processor time a process has used, all its threads; not a number where the system does not tell. */
export function processorSeconds({ child }: { child: ChildProcess }): number {
  const fields = procFile(child, 'stat').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Megabytes a process holds in memory, and those of them that are no part of a file. */
export function residentMegabytes({ child }: { child: ChildProcess }): { all: number; own: number } {
  const status = procFile(child, 'status');
  const megabytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
  return { all: megabytes('VmRSS'), own: megabytes('RssAnon') };
}

function procFile({ pid }: ChildProcess, name: string): string {
  return process.platform === 'linux' ? readFileSync(`/proc/${pid}/${name}`, 'utf8') : '';
}
