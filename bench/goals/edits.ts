import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildIndex, chat, importLines, knowledge } from '../support/data.ts';
import { chunks } from '../support/databases.ts';
import { type Bench, group } from '../support/goal.ts';
import { compare, median } from '../support/pairs.ts';
import { roundSeconds, warmSeconds } from '../support/reads.ts';
import { startHelper, startOurs } from '../support/servers.ts';
import { type WriteKind, writtenShape } from '../support/write-load.ts';

const against = 'a bare loop that commits the same rows in groups of the same size, with full sync';
const target = { min: 0.7 };

/** Writes that are on disk before their response. */
export const edits = group({
  goals: {
    edit: {
      what: 'PATCH of child chunks by 64 clients',
      against,
      why: 'the disk decides; HTTP, keys, the feed and the index get a third of two cores',
      target,
    },
    append: { what: 'appends of one message by 64 clients', against, why: 'as above', target },
  },
  prepare: fill,
  measure: async (bench) => ({ edit: await measure(bench, 'edit'), append: await measure(bench, 'append') }),
});

const fileOf = ({ folder }: Bench, kind: WriteKind | 'bare') => join(folder, `writes-${kind}.db`);

async function fill(bench: Bench): Promise<void> {
  const file = fileOf(bench, 'edit');
  await importLines(`sqlite:${file}`, records());
  await buildIndex(`sqlite:${file}`);
  for (const kind of ['append', 'bare'] as const) copyFileSync(file, fileOf(bench, kind));
}

function* records(): Generator<string> {
  yield* chat(writtenShape);
  yield* knowledge(chunks);
}

async function measure(bench: Bench, kind: WriteKind) {
  const file = fileOf(bench, kind);
  const ours = await startOurs(bench.folder, `sqlite:${file}`);
  const clients = startHelper('support/write-load.ts', `${ours.port}`, kind);
  const bare = startHelper('bare/bare-commits.ts', fileOf(bench, 'bare'), kind);
  const groups: number[] = [];

  const write = async (seconds = roundSeconds) => {
    const commits = commitsOf(file);
    const { writes, perSecond } = await clients.request<{ writes: number; perSecond: number }>({ seconds });
    groups.push(writes / (commitsOf(file) - commits));
    return perSecond;
  };
  const commit = async () => {
    const size = Math.max(1, Math.round(groups.at(-1) ?? 1));
    return (await bare.request<{ perSecond: number }>({ group: size, seconds: roundSeconds })).perSecond;
  };

  await write(warmSeconds);
  await commit();
  const comparison = await compare(write, commit);
  for (const one of [clients, bare, ours]) await one.stop();
  return { ...comparison, unit: 'writes/s', note: `${median(groups).toFixed(1)} for each commit` };
}

/** The third word of the WAL index counts transactions (iChange, https://sqlite.org/walformat.html). */
function commitsOf(file: string): number {
  return readFileSync(`${file}-shm`).readUInt32LE(8);
}
