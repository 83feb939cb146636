import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  type CommandResult,
  inScope,
  newFolder,
  run,
  type Scope,
  sendRequest,
  serveWithWorkers,
  withFileSizeLimit,
} from '../server/test/support/cli-helpers.ts';
import { makeTwoTenants, message, ndjson } from '../server/test/support/harness.ts';
import { Client } from './support/disk-client.ts';
import { count, type Experiment, type Finding, importRecords } from './support/experiment.ts';

type RunOptions = Parameters<typeof run>[1];

/** A disk that can be filled. */
export type Disk = {
  /** The folder and the limits of the commands that use this disk. */
  options: RunOptions;
  /** Fills the disk. Leaves this many bytes free where the disk supports it. */
  fill: (bytesFree: number) => void;
  free: () => void;
};

/** A separate disk in memory. */
export type SmallDisk = Disk & {
  /** Frees a part of what fills the disk. */
  freeSome: (bytes: number) => void;
};

/**
 * No file of the service may grow beyond a limit. A long read transaction keeps the write-ahead log growing until it
 * reaches that limit; ending the transaction frees the disk.
 */
export async function diskWithFileLimit(scope: Scope, limits: Partial<RunOptions>): Promise<Disk> {
  const cwd = await newFolder(scope);
  let reader: DatabaseSync | undefined;
  return {
    options: { cwd, ...limits },
    fill: () => {
      reader = new DatabaseSync(join(cwd, 'data', 'backscroll.db'));
      reader.exec('BEGIN');
      reader.prepare('SELECT COUNT(*) FROM messages').get();
    },
    free: () => reader?.close(),
  };
}

/**
 * A separate disk in memory, filled by one large file. Undefined where mounting is not permitted. To reuse the write-ahead
 * log, SQLite first copies it into the database file, which grows by at most the size of the log. So freeing the disk
 * must free at least that much; otherwise the disk is still full, and rejected writes would say nothing about the service.
 */
export async function smallDisk(scope: Scope, megabytes: number): Promise<SmallDisk | undefined> {
  const cwd = await newFolder(scope);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', cwd], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  scope.after(async () => void execFileSync('umount', ['--lazy', cwd]));
  const ballast = join(cwd, 'ballast');
  const fill = (bytesFree: number) => {
    const file = openSync(ballast, 'w');
    try {
      for (const bytes of [1_048_576, 1]) writeUntilFull(file, Buffer.alloc(bytes));
      ftruncateSync(file, Math.max(0, fstatSync(file).size - bytesFree));
    } finally {
      closeSync(file);
    }
  };
  const freeSome = (bytes: number) => truncateSync(ballast, statSync(ballast).size - bytes);
  const free = () => {
    const [freed, log] = [ballast, join(cwd, 'data', 'backscroll.db-wal')].map((file) => statSync(file).size);
    if (Number(freed) < Number(log))
      throw new Error(`the disk is too small: ${freed} bytes are freed, the log has ${log}`);
    rmSync(ballast);
  };
  return { options: { cwd, env: { TMPDIR: cwd } }, fill, free, freeSome };
}

function writeUntilFull(file: number, bytes: Buffer): void {
  try {
    while (writeSync(file, bytes) > 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

/** Serves from a disk that is filled and freed `cycles` times, and collects responses, log lines and stored data. */
export async function fillDisk(disk: Disk, scope: Scope, { cycles, requests }: { cycles: number; requests: number }) {
  const { options } = disk;
  const world = makeTwoTenants();
  const { one, admin } = world;
  await importRecords([...world.records, message(one.ids.conversation, 1)], options);
  const serving = await serveWithWorkers(scope, options);
  const client = new Client(serving, world);
  const startedAt = performance.now();
  const statuses = { writes: new Map<number, number>(), reads: new Map<number, number>() };
  const recoveryMillis: number[] = [];
  let partialRecords = 0;
  let commandResult = expectedResult;
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    for (let at = 0; at < requests / 10; at += 1) add(statuses.writes, await client.write());
    disk.fill(cycle * 777_777);
    await client.writeUntilRejected();
    for (let at = 0; at < requests; at += 1) {
      add(statuses.writes, await client.write());
      add(statuses.reads, await client.read(at));
    }
    // Large enough to be spooled to disk before it is applied.
    const large = Array.from({ length: 1_200 }, (_, n) =>
      message(one.ids.conversation, 2 + n, { query: 'too large', answer: 'x'.repeat(8_000) }),
    );
    const lines = ndjson(large);
    add(statuses.writes, (await sendRequest(serving.base, '/admin/records', admin, { method: 'POST', lines })).status);
    const ran = await run(['import', '-'], { ...options, stdin: lines, millisMax: 60_000 });
    if (ran.code !== 1 || !/^[^\n]*(disk|I\/O|too large)[^\n]*\n$/.test(ran.stderr)) commandResult = describe(ran);
    partialRecords += (await client.messages('too large')).length;
    disk.free();
    recoveryMillis.push(await client.millisUntilAccepted());
  }
  const lost = await client.countLost();
  const leftovers = readdirSync(options.cwd, { recursive: true }).filter((name) => String(name).endsWith('.tmp'));
  const lines = client.errorLines();
  const minutes = (performance.now() - startedAt) / 60_000;
  await serving.end('SIGTERM');
  const database = new DatabaseSync(join(options.cwd, 'data', 'backscroll.db'));
  const integrity = Object.values(database.prepare('PRAGMA integrity_check').get() ?? {})[0];
  database.close();
  const acknowledged = client.acknowledged.length;
  return {
    ...{ statuses, recoveryMillis, partialRecords, commandResult, lost },
    ...{ leftovers, lines, minutes, integrity, acknowledged },
  };
}

/** Requirements on a rejected import command. */
const expectedResult = 'rejected with one line';
const add = (counts: Map<number, number>, status: number) => counts.set(status, (counts.get(status) ?? 0) + 1);
const describe = ({ code, signal, stdout, stderr }: CommandResult) =>
  `exit code ${code ?? signal}: ${stdout}${stderr}`.trim();
const show = (counts: Map<number, number>) => [...counts].map(([status, n]) => `${count(n)} × ${status}`).join(', ');

export function findingsOf(cause: string, results: Awaited<ReturnType<typeof fillDisk>>): Finding[] {
  const { statuses, recoveryMillis, lines } = results;
  const hasOnly = (counts: Map<number, number>, ...allowed: number[]) =>
    [...counts.keys()].every((status) => allowed.includes(status));
  return [
    {
      promise: `${cause}: writes get 503, reads continue`,
      measured: `writes ${show(statuses.writes)}; reads ${show(statuses.reads)}`,
      holds: hasOnly(statuses.writes, 200, 503) && statuses.writes.has(503) && hasOnly(statuses.reads, 200),
    },
    {
      promise: `${cause}: the log reports the cause without being flooded`,
      measured: `${lines.length} lines for ${count(statuses.writes.get(503) ?? 0)} rejected writes: ${causeOf(lines[0])}`,
      holds:
        lines.length > 0 && lines.length <= 3 * (1 + results.minutes) && lines.every((line) => causeOf(line) !== ''),
    },
    {
      promise: `${cause}: an import over HTTP or on the command line is rejected as a whole and leaves no file`,
      measured: `${results.partialRecords} of its records stored, ${results.leftovers.length} files left; command ${results.commandResult}`,
      holds: results.partialRecords === 0 && results.leftovers.length === 0 && results.commandResult === expectedResult,
    },
    {
      promise: `${cause}: the service recovers by itself, and no acknowledged write is lost`,
      measured:
        `writes accepted again after at most ${Math.max(...recoveryMillis).toFixed(0)} ms, ${recoveryMillis.length} times; ` +
        `${results.lost} of ${count(results.acknowledged)} lost; integrity ${results.integrity}`,
      holds: recoveryMillis.every(Number.isFinite) && results.lost === 0 && results.integrity === 'ok',
    },
  ];
}

const causeOf = (line = '{}'): string => String(JSON.parse(line).cause ?? '');

/** Root ignores file permissions, so under root the service runs as another user. */
const otherUser = process.getuid?.() === 0 ? 65_534 : undefined;

/** Serves a read-only file that becomes writable without a restart; `starts` times, each after a kill. */
export const serveReadOnly = ({ starts, requests }: { starts: number; requests: number }): Promise<Finding[]> =>
  inScope(async (scope) => {
    const cwd = await newFolder(scope);
    await mkdir(join(cwd, 'data'));
    if (otherUser !== undefined)
      for (const folder of [cwd, join(cwd, 'data')]) await chown(folder, otherUser, otherUser);
    const options = { cwd, ...(otherUser !== undefined && { uid: otherUser }) };
    const file = join(cwd, 'data', 'backscroll.db');
    const world = makeTwoTenants();
    await importRecords([...world.records, message(world.one.ids.conversation, 1)], options);
    const statuses = { writes: new Map<number, number>(), reads: new Map<number, number>() };
    const recoveryMillis: number[] = [];
    const lines: string[] = [];
    let lost = 0;
    for (let start = 0; start < starts; start += 1) {
      chmodSync(file, 0o444);
      // A second start also finds the files that the first left behind when it could not write.
      await (await serveWithWorkers(scope, options)).end('SIGKILL');
      const serving = await serveWithWorkers(scope, options);
      const client = new Client(serving, world);
      for (let at = 0; at < requests; at += 1) {
        add(statuses.writes, await client.write());
        add(statuses.reads, await client.read(at));
      }
      chmodSync(file, 0o644);
      recoveryMillis.push(await client.millisUntilAccepted());
      lost += await client.countLost();
      lines.push(...client.errorLines());
      await serving.end('SIGKILL');
    }
    const hasOnly = (counts: Map<number, number>, status: number) => [...counts.keys()].every((one) => one === status);
    return [
      {
        promise: 'a read-only database: writes get 503, reads continue',
        measured: `writes ${show(statuses.writes)}; reads ${show(statuses.reads)}`,
        holds: hasOnly(statuses.writes, 503) && hasOnly(statuses.reads, 200),
      },
      {
        promise: 'a read-only database: the log reports it once per start',
        measured: `${lines.length} lines in ${starts} starts: ${causeOf(lines[0])}`,
        holds: lines.length === starts && lines.every((line) => /read-only/.test(causeOf(line))),
      },
      {
        promise: 'a database that becomes writable accepts writes again without a restart',
        measured: `after at most ${Math.max(...recoveryMillis).toFixed(0)} ms, ${recoveryMillis.length} times; ${lost} writes lost`,
        holds: recoveryMillis.every(Number.isFinite) && lost === 0,
      },
    ];
  });

export const disk: Experiment = {
  name: 'disk',
  long: async (log) => {
    return inScope(async (scope) => {
      const small = await smallDisk(scope, 64);
      const cause = small ? 'a full disk' : 'a file size limit (no disk can be mounted here)';
      log(cause);
      const disk = small ?? (await diskWithFileLimit(scope, withFileSizeLimit(20_000)));
      const findings = findingsOf(cause, await fillDisk(disk, scope, { cycles: 5, requests: 500 }));
      log('a read-only database');
      return [...findings, ...(await serveReadOnly({ starts: 3, requests: 300 }))];
    });
  },
};
