import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { chat, type Shape } from '../support/data.ts';
import { compare, quantile } from '../support/pairs.ts';
import type { Bench, Result } from '../support/result.ts';
import { command, script, track } from '../support/servers.ts';

/** Runs a process until it ends, at the latest with the bench. */
export function run(argv: string[], env: NodeJS.ProcessEnv = {}): Promise<{ stdout: string }> {
  const result = promisify(execFile)(process.execPath, argv, { env: { ...process.env, ...env } });
  track(result.child);
  return result;
}

export const importShape: Shape = { conversations: 2_000, messages: 60, bytes: 2_900 };
export const importRecords = importShape.conversations * (importShape.messages + 1);

export async function removeDatabase(file: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm']) await rm(file + suffix, { force: true });
}

/**
 * Goal 10: `backscroll import` of a file into a new database, compared with a bare loop of prepared inserts of the same
 * rows. The time is the one that the command prints: from opening the database to closing it, without process start.
 */
export async function measureImport({ folder, pairs, log }: Bench): Promise<Result[]> {
  const [input, imported, bare] = ['chat.ndjson', 'imported.db', 'bare.db'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  log(`writing ${importRecords} records to a file`);
  await pipeline(Readable.from(chat(importShape)), createWriteStream(input));

  const commandSeconds: number[] = [];
  const importFile = async (): Promise<number> => {
    await removeDatabase(imported);
    const startedAt = performance.now();
    const { stdout } = await run([command, 'import', input], { DATABASE_URL: `sqlite:${imported}` });
    commandSeconds.push((performance.now() - startedAt) / 1000);
    return importRecords / Number(/ in ([\d.]+) s/.exec(stdout)?.[1]);
  };
  const insertRows = async (): Promise<number> => {
    await removeDatabase(bare);
    const { stdout } = await run([script('bare/bare-inserts.ts'), imported, bare, `${importShape.conversations}`]);
    return importRecords / Number(stdout);
  };

  log('importing, compared with a bare loop of inserts');
  await importFile();
  commandSeconds.length = 0;
  const comparison = await compare(importFile, insertRows, pairs);
  for (const file of [imported, bare]) await removeDatabase(file);
  await rm(input);
  return [
    {
      ...comparison,
      goal: 10,
      what: 'backscroll import of 120,000 messages of 3.5 kB, embedded engine',
      against: 'a bare loop of prepared inserts of the same rows, one transaction',
      unit: 'records/s',
      target: { min: 0.6 },
      notes: { 'seconds for the whole command': quantile(commandSeconds, 0.5).toFixed(1) },
    },
  ];
}
