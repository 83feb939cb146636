import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chat, importLines, knowledge } from '../support/data.ts';
import { chunks } from '../support/embedded.ts';
import { compare, median } from '../support/pairs.ts';
import { roundSeconds } from '../support/reads.ts';
import type { Bench, Result } from '../support/result.ts';
import { processorSeconds, startHelper, startOurs } from '../support/servers.ts';

type Rate = { perSecond: number };
type Edits = Rate & { edits: number };

/** Goals 8 and 18: edits that are on disk before their response, compared with only committing the same rows. */
export async function measureEdits(bench: Bench): Promise<Result[]> {
  const results: Result[] = [];
  if (bench.isSelected(8)) results.push(await measureWith(1, 8, bench));
  if (bench.isSelected(18)) results.push(await measureWith(2, 18, bench));
  return results;
}

async function measureWith(workers: number, goal: number, { folder, pairs, log }: Bench): Promise<Result> {
  log(`importing ${chunks} chunks`);
  const [path, copy] = [join(folder, `edits-${goal}.db`), join(folder, `edits-bare-${goal}.db`)];
  await importLines(`sqlite:${path}`, concat(chat({ conversations: 1, messages: 1, bytes: 100 }), knowledge(chunks)));
  copyFileSync(path, copy);
  const ours = await startOurs(folder, `sqlite:${path}`, { WORKERS: `${workers}` });
  const clients = startHelper('support/edit-load.ts', `${ours.port}`);
  const bare = startHelper('bare/bare-commits.ts', copy);
  const groups: number[] = [];
  const micros: number[] = [];

  const edit = async () => {
    const [commits, secondsBefore] = [commitsOf(path), processorSeconds(ours)];
    const { edits, perSecond } = await clients.request<Edits>({ seconds: roundSeconds });
    groups.push(edits / (commitsOf(path) - commits));
    micros.push(((processorSeconds(ours) - secondsBefore) / edits) * 1e6);
    return perSecond;
  };
  const commit = async () => {
    const group = Math.max(1, Math.round(groups.at(-1) ?? 1));
    return (await bare.request<Rate>({ group, seconds: roundSeconds })).perSecond;
  };

  log('warming up');
  for (let round = 0; round < 3; round += 1) await edit();
  await commit();
  groups.splice(0, groups.length - 1);
  log('edits by 64 clients, and bare commits');
  const measurements = await compare(edit, commit, pairs);
  for (const one of [clients, bare, ours]) await one.stop();
  return {
    ...measurements,
    goal,
    what: `PATCH of child chunks, durable, 64 clients, embedded engine${workers > 1 ? `, ${workers} workers` : ''}`,
    against: 'a bare loop committing the same rows in groups of the same size, full sync',
    unit: 'edits/s',
    target: { min: 0.7 },
    notes: {
      'edits per commit, counted in the write-ahead log': median(groups),
      ...(!Number.isNaN(median(micros)) && {
        'CPU time per edit, all server threads': `${median(micros).toFixed(0)} µs`,
      }),
    },
  };
}

function* concat(one: Iterable<string>, other: Iterable<string>): Generator<string> {
  yield* one;
  yield* other;
}

/** The third word of the WAL index counts transactions (iChange, https://sqlite.org/walformat.html). */
function commitsOf(path: string): number {
  return readFileSync(`${path}-shm`).readUInt32LE(8);
}
