import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { chat, type Shape } from './data.ts';
import { compare, quantile } from './pairs.ts';
import type { Bench, Result } from './result.ts';
import { command, script, track } from './servers.ts';

/** Runs a process to its end, or to the bench's. */
function run(argv: string[], env: NodeJS.ProcessEnv = {}): Promise<{ stdout: string }> {
  const running = promisify(execFile)(process.execPath, argv, { env: { ...process.env, ...env } });
  track(running.child);
  return running;
}

const shape: Shape = { conversations: 2_000, messages: 60, bytes: 2_900 };
const records = shape.conversations * (shape.messages + 1);

async function removeDatabase(file: string): Promise<void> {
  for (const end of ['', '-wal', '-shm']) await rm(file + end, { force: true });
}

/**
 * `backscroll import` of a file into a new database, against a bare loop of prepared inserts of the rows that come of it.
 * Ours is counted as the command counts: from opening the database to closing it, without the start of the process.
 */
export async function measureImport({ folder, pairs, say }: Bench): Promise<Result[]> {
  const [input, imported, bare] = ['chat.ndjson', 'imported.db', 'bare.db'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  say(`writing ${records} records to a file`);
  await pipeline(Readable.from(chat(shape)), createWriteStream(input));

  const whole: number[] = [];
  const importFile = async (): Promise<number> => {
    await removeDatabase(imported);
    const started = performance.now();
    const { stdout } = await run([command, 'import', input], { DATABASE_URL: `sqlite:${imported}` });
    whole.push((performance.now() - started) / 1000);
    return records / Number(/ in ([\d.]+) s/.exec(stdout)?.[1]);
  };
  const insertRows = async (): Promise<number> => {
    await removeDatabase(bare);
    const { stdout } = await run([script('bare-inserts.ts'), imported, bare, `${shape.conversations}`]);
    return records / Number(stdout);
  };

  say('importing, against a bare loop of inserts');
  await importFile();
  whole.length = 0;
  const compared = await compare(importFile, insertRows, pairs);
  for (const file of [imported, bare]) await removeDatabase(file);
  await rm(input);
  return [
    {
      ...compared,
      goal: 10,
      what: 'backscroll import of 120,000 messages of 3.5 kB, embedded engine',
      against: 'a bare loop of prepared inserts of the same rows, one transaction',
      unit: 'records/s',
      aim: { min: 0.6 },
      notes: { 'seconds of the whole command': quantile(whole, 0.5).toFixed(1) },
    },
  ];
}
