import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, fstatSync, ftruncateSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  type CommandResult,
  newFolder,
  newScope,
  run,
  type Scope,
  sendRequest,
  serve,
  withFileSizeLimit,
} from '../test/support/cli-helpers.ts';
import { makeTwoTenants, message, ndjson } from '../test/support/harness.ts';
import { Client } from './support/disk-client.ts';
import { count, type Experiment, type Finding } from './support/experiment.ts';

type Place = Parameters<typeof run>[1];

/** A disk that can be full, and how. */
export type Disk = {
  /** Where commands run, and with what bounds. */
  place: Place;
  /** Leaves so many bytes of room, where it can tell. */
  fill: (room: number) => void;
  free: () => void;
};

/** No file of the service may grow beyond a bound; what ends a fullness is that a reader lets go of the log. */
export async function boundedFiles(scope: Scope, bounds: Partial<Place>): Promise<Disk> {
  const cwd = await newFolder(scope);
  let reader: DatabaseSync | undefined;
  return {
    place: { cwd, ...bounds },
    fill: () => {
      reader = new DatabaseSync(join(cwd, 'data', 'backscroll.db'));
      reader.exec('BEGIN');
      reader.prepare('SELECT COUNT(*) FROM messages').get();
    },
    free: () => reader?.close(),
  };
}

/** A disk of its own in memory, of which a file takes all that is left. Undefined where it may not be mounted. */
async function smallDisk(scope: Scope, megabytes: number): Promise<Disk | undefined> {
  const cwd = await newFolder(scope);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', cwd], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  scope.after(async () => void execFileSync('umount', ['--lazy', cwd]));
  const ballast = join(cwd, 'ballast');
  const fill = (room: number) => {
    const file = openSync(ballast, 'w');
    try {
      for (const bytes of [1_048_576, 1]) writeAll(file, Buffer.alloc(bytes));
      ftruncateSync(file, Math.max(0, fstatSync(file).size - room));
    } finally {
      closeSync(file);
    }
  };
  return { place: { cwd, env: { TMPDIR: cwd } }, fill, free: () => rmSync(ballast) };
}

/** Until the disk takes no more. */
function writeAll(file: number, bytes: Buffer): void {
  try {
    while (writeSync(file, bytes) > 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

/** Serves from a disk that gets full, `cycles` times over, and looks at what is answered, logged and kept. */
export async function fillUp(disk: Disk, scope: Scope, { cycles, asks }: { cycles: number; asks: number }) {
  const { place } = disk;
  const world = makeTwoTenants();
  const { one, admin } = world;
  await imported(place, ndjson([...world.records, message(one.ids.conversation, 1)]));
  const serving = await serve(scope, place);
  const client = new Client(serving, world);
  const began = performance.now();
  const statuses = { writes: new Map<number, number>(), reads: new Map<number, number>() };
  const healing: number[] = [];
  let halves = 0;
  let worstCommand = 'refused in one line';
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    for (let at = 0; at < asks / 10; at += 1) add(statuses.writes, await client.write());
    disk.fill(cycle * 777_777);
    await client.untilRefused();
    for (let at = 0; at < asks; at += 1) {
      add(statuses.writes, await client.write());
      add(statuses.reads, await client.read(at));
    }
    // Large enough to wait on disk before it is applied.
    const large = Array.from({ length: 1_200 }, (_, n) =>
      message(one.ids.conversation, 2 + n, { query: 'too large', answer: 'x'.repeat(8_000) }),
    );
    const lines = ndjson(large);
    add(statuses.writes, (await sendRequest(serving.base, '/admin/records', admin, { method: 'POST', lines })).status);
    const ran = await run(['import', '-'], { ...place, stdin: lines, millisMax: 60_000 });
    if (ran.code !== 1 || !/^[^\n]*(disk|I\/O|too large)[^\n]*\n$/.test(ran.stderr)) worstCommand = said(ran);
    halves += (await client.messages('too large')).length;
    disk.free();
    healing.push(await client.untilTaken());
  }
  const lost = await client.lost();
  const left = readdirSync(place.cwd, { recursive: true }).filter((name) => String(name).endsWith('.tmp'));
  const lines = client.complaints();
  const minutes = (performance.now() - began) / 60_000;
  await serving.end('SIGTERM');
  const check = new DatabaseSync(join(place.cwd, 'data', 'backscroll.db'));
  const integrity = Object.values(check.prepare('PRAGMA integrity_check').get() ?? {})[0];
  check.close();
  return { statuses, healing, halves, worstCommand, lost, left, lines, minutes, integrity, taken: client.taken.length };
}

const add = (counts: Map<number, number>, status: number) => counts.set(status, (counts.get(status) ?? 0) + 1);
const said = ({ code, signal, stdout, stderr }: CommandResult) =>
  `exit code ${code ?? signal}: ${stdout}${stderr}`.trim();
const told = (counts: Map<number, number>) => [...counts].map(([status, n]) => `${count(n)} × ${status}`).join(', ');

async function imported(place: Place, stdin: string): Promise<void> {
  const ran = await run(['import', '-'], { ...place, stdin });
  if (ran.code !== 0) throw new Error(said(ran));
}

export function findingsOf(how: string, seen: Awaited<ReturnType<typeof fillUp>>): Finding[] {
  const { statuses, healing, lines } = seen;
  const only = (counts: Map<number, number>, ...allowed: number[]) =>
    [...counts.keys()].every((status) => allowed.includes(status));
  return [
    {
      promise: `${how}: writes get 503, reads go on`,
      measured: `writes ${told(statuses.writes)}; reads ${told(statuses.reads)}`,
      holds: only(statuses.writes, 200, 503) && statuses.writes.has(503) && only(statuses.reads, 200),
    },
    {
      promise: `${how}: the log says why, and is not flooded`,
      measured: `${lines.length} lines for ${count(statuses.writes.get(503) ?? 0)} refusals: ${causeOf(lines[0])}`,
      holds: lines.length > 0 && lines.length <= 3 * (1 + seen.minutes) && lines.every((line) => causeOf(line) !== ''),
    },
    {
      promise: `${how}: an import, by HTTP or command line, is refused whole, and leaves no file`,
      measured: `${seen.halves} records of it kept, ${seen.left.length} files left; command ${seen.worstCommand}`,
      holds: seen.halves === 0 && seen.left.length === 0 && seen.worstCommand === 'refused in one line',
    },
    {
      promise: `${how}: it heals by itself, and nothing acknowledged is lost`,
      measured:
        `writes taken again after at most ${Math.max(...healing).toFixed(0)} ms, ${healing.length} times; ` +
        `${seen.lost} of ${count(seen.taken)} lost; integrity ${seen.integrity}`,
      holds: healing.every(Number.isFinite) && seen.lost === 0 && seen.integrity === 'ok',
    },
  ];
}

const causeOf = (line = '{}'): string => String(JSON.parse(line).cause ?? '');

/** As root, who ignores permissions, the service runs as somebody else. */
const otherUser = process.getuid?.() === 0 ? 65_534 : undefined;

/** Serves a file that may not be written to, then may, without a restart; `starts` times over, each after a kill. */
export async function readOnly({ starts, asks }: { starts: number; asks: number }): Promise<Finding[]> {
  const scope = newScope();
  try {
    const cwd = await newFolder(scope);
    await mkdir(join(cwd, 'data'));
    if (otherUser !== undefined)
      for (const folder of [cwd, join(cwd, 'data')]) await chown(folder, otherUser, otherUser);
    const place = { cwd, ...(otherUser !== undefined && { uid: otherUser }) };
    const file = join(cwd, 'data', 'backscroll.db');
    const world = makeTwoTenants();
    await imported(place, ndjson([...world.records, message(world.one.ids.conversation, 1)]));
    const statuses = { writes: new Map<number, number>(), reads: new Map<number, number>() };
    const healing: number[] = [];
    const lines: string[] = [];
    let lost = 0;
    for (let start = 0; start < starts; start += 1) {
      chmodSync(file, 0o444);
      // Once more, so that it also finds what it left behind when it could not write.
      await (await serve(scope, place)).end('SIGKILL');
      const serving = await serve(scope, place);
      const client = new Client(serving, world);
      for (let at = 0; at < asks; at += 1) {
        add(statuses.writes, await client.write());
        add(statuses.reads, await client.read(at));
      }
      chmodSync(file, 0o644);
      healing.push(await client.untilTaken());
      lost += await client.lost();
      lines.push(...client.complaints());
      await serving.end('SIGKILL');
    }
    const only = (counts: Map<number, number>, status: number) => [...counts.keys()].every((one) => one === status);
    return [
      {
        promise: 'a read-only database: writes get 503, reads go on',
        measured: `writes ${told(statuses.writes)}; reads ${told(statuses.reads)}`,
        holds: only(statuses.writes, 503) && only(statuses.reads, 200),
      },
      {
        promise: 'a read-only database: the log says so once a start',
        measured: `${lines.length} lines in ${starts} starts: ${causeOf(lines[0])}`,
        holds: lines.length === starts && lines.every((line) => /read-only/.test(causeOf(line))),
      },
      {
        promise: 'a database that may be written to again is, without a restart',
        measured: `after at most ${Math.max(...healing).toFixed(0)} ms, ${healing.length} times; ${lost} writes lost`,
        holds: healing.every(Number.isFinite) && lost === 0,
      },
    ];
  } finally {
    await scope.end();
  }
}

export const disk: Experiment = {
  name: 'disk',
  long: async (say) => {
    const scope = newScope();
    try {
      const small = await smallDisk(scope, 24);
      const how = small ? 'a full disk' : 'files that may not grow (no disk may be mounted here)';
      say(how);
      const disk = small ?? (await boundedFiles(scope, withFileSizeLimit(20_000)));
      const findings = findingsOf(how, await fillUp(disk, scope, { cycles: 5, asks: 500 }));
      say('a read-only database');
      return [...findings, ...(await readOnly({ starts: 3, asks: 300 }))];
    } finally {
      await scope.end();
    }
  },
};
