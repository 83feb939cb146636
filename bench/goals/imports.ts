import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { chat } from '../support/data.ts';
import { shape } from '../support/databases.ts';
import { type Bench, group } from '../support/goal.ts';
import { compare } from '../support/pairs.ts';
import { fullOr } from '../support/quick.ts';
import { command, script, track } from '../support/servers.ts';

const records = shape.conversations * (shape.messages + 1);
/** An import takes more than ten seconds, and rounds differ little. */
const rounds = fullOr(5, 1);

/** The time is the one that the command prints: from opening the database to closing it, without the start of the process. */
export const imports = group({
  goals: {
    file: {
      what: '`backscroll import` of 120,000 messages of 3.5 kB',
      against: 'a bare loop of prepared inserts of the same rows, one transaction, from memory',
      why: 'every line is validated before the first is written, which takes as long as writing: half is the limit of two cores',
      target: { min: 0.4 },
    },
  },
  measure,
});

async function measure({ folder }: Bench) {
  const [input, imported, bare] = ['chat.ndjson', 'imported.db', 'bare.db'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await pipeline(Readable.from(chat(shape)), createWriteStream(input));
  const importFile = async (): Promise<number> => {
    await removeDatabase(imported);
    const stdout = await run([command, 'import', input], { DATABASE_URL: `sqlite:${imported}` });
    return records / Number(/ in ([\d.]+) s/.exec(stdout)?.[1]);
  };
  const insertRows = async (): Promise<number> => {
    await removeDatabase(bare);
    return records / Number(await run([script('bare/bare-inserts.ts'), imported, bare, `${shape.conversations}`]));
  };
  await importFile();
  const comparison = await compare(importFile, insertRows, rounds);
  for (const file of [imported, bare]) await removeDatabase(file);
  await rm(input);
  return { file: { ...comparison, unit: 'records/s' } };
}

/** The output of a process, which ends at the latest with the bench. */
export async function run(argv: string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const result = promisify(execFile)(process.execPath, argv, { env: { ...process.env, ...env } });
  track(result.child);
  return (await result).stdout;
}

async function removeDatabase(file: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm']) await rm(file + suffix, { force: true });
}
