import { limits } from '../server/src/contract/limits.ts';
import { embeddedDatabase, shape } from './embedded.ts';
import { loadCount } from './load.ts';
import { compared, median } from './pairs.ts';
import { anyPage, connections, fewPages, pick, visit } from './reads.ts';
import type { Bench, Result } from './result.ts';
import { residentMegabytes, startOurs } from './servers.ts';

/**
 * Goal 12: once the caches are full, memory stays as it is. What is judged is memory of the process's own; pages of the
 * database file that the system lends it are shown beside. Every pair is a server of its own.
 */
export async function measureMemory(bench: Bench): Promise<Result[]> {
  if (process.platform !== 'linux') throw new Error('the memory of another process is only known on Linux');
  const { folder, pairs, say } = bench;
  const database = await embeddedDatabase(bench);
  const full: Megabytes[] = [];
  const later: Megabytes[] = [];
  const any = anyPage(shape);
  let requests = 0;
  for (let pair = 0; pair < pairs; pair += 1) {
    say(`server ${pair + 1} of ${pairs}`);
    const ours = await startOurs(folder, database);
    const bytes = await visit(ours, Array.from({ length: 20 }, any));
    const cached = fewPages(shape, Math.ceil(limits.pageCacheBytesMax / bytes));
    // A page is kept when it is asked for again; half of the requests are for such, half for any.
    for (let times = 0; times < 3; times += 1) await visit(ours, cached);
    const next = () => (Math.random() < 0.5 ? pick(cached) : any());
    requests = cached.length * 3;
    await loadCount(ours.port, next, connections, requests);
    full.push(residentMegabytes(ours));
    await loadCount(ours.port, next, connections, requests * 10);
    later.push(residentMegabytes(ours));
    await ours.stop();
  }
  const own = (list: Megabytes[]) => list.map((one) => one.own);
  const all = (list: Megabytes[]) => median(list.map((one) => one.all)).toFixed(0);
  return [
    {
      ...compared(own(later), own(full)),
      goal: 12,
      what: `memory of its own after ${(requests * 10).toLocaleString('en')} more pages`,
      against: 'the same once the caches are full',
      unit: 'MB',
      aim: { max: 1.2 },
      notes: { 'with what is mapped of files': `${all(later)} against ${all(full)} MB` },
    },
  ];
}

type Megabytes = { all: number; own: number };
