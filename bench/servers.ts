import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const command = fileURLToPath(new URL('../server/bin/backscroll.js', import.meta.url));

/** A child process that serves HTTP on this machine. Its output goes to a file, as an operator would have it. */
export type Server = { port: number; child: ChildProcess; log: string; stop: () => Promise<void> };

let count = 0;

/** Resolves once it says where it listens. */
export async function startServer(folder: string, argv: string[], env: NodeJS.ProcessEnv = {}): Promise<Server> {
  const log = join(folder, `server-${(count += 1)}.log`);
  const output = openSync(log, 'w');
  const child = spawn(process.execPath, argv, {
    env: { ...process.env, PORT: '0', ...env },
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  let isGone = false;
  child.once('exit', () => (isGone = true));
  const stop = async () => {
    if (isGone) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  for (;;) {
    const port = /listening at http:\/\/[^"\s]*:(\d+)/.exec(readFileSync(log, 'utf8'))?.[1];
    if (port !== undefined) return { port: Number(port), child, log, stop };
    if (isGone) throw new Error(`${argv.join(' ')} ended:\n${readFileSync(log, 'utf8')}`);
    await sleep(1);
  }
}

export function startBare(folder: string): Promise<Server> {
  return startServer(folder, [fileURLToPath(new URL('bare-http.ts', import.meta.url))]);
}

export function startOurs(folder: string, database: string, env: NodeJS.ProcessEnv = {}): Promise<Server> {
  return startServer(folder, [command, 'serve'], { DATABASE_URL: database, ...env });
}

/** Seconds of processor time a process has used, all its threads. */
export function processorSeconds({ child }: Server): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Megabytes a process holds in memory. */
export function residentMegabytes({ child }: Server): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024;
}
