import { limits } from '../server/src/contract/limits.ts';
import { embeddedDatabase, shape } from './embedded.ts';
import { loadCount } from './load.ts';
import { compared, median } from './pairs.ts';
import { anyPage, connections, fewPages, pick, visit } from './reads.ts';
import type { Bench, Result } from './result.ts';
import { residentMegabytes, startOurs } from './servers.ts';

/** Every page kept is asked for again, and more pages are asked for once than there are tags remembered. */
const fillRequests = 45_000;
/** Each takes most of a minute, and they hardly differ. */
const serversMax = 3;

/**
 * Goal 12: once the caches are full, memory stays as it is. What is judged is memory of the process's own; pages of the
 * database file that the system lends it are shown beside. Every pair is a server of its own.
 */
export async function measureMemory(bench: Bench): Promise<Result[]> {
  if (process.platform !== 'linux') throw new Error('the memory of another process is only known on Linux');
  const { folder, say } = bench;
  const servers = Math.min(bench.pairs, serversMax);
  const database = await embeddedDatabase(bench);
  const full: Megabytes[] = [];
  const later: Megabytes[] = [];
  const any = anyPage(shape);
  for (let at = 0; at < servers; at += 1) {
    say(`server ${at + 1} of ${servers}`);
    const ours = await startOurs(folder, database);
    const bytes = await visit(ours, Array.from({ length: 20 }, any));
    const cached = fewPages(shape, Math.ceil(limits.pageCacheBytesMax / bytes));
    // A page is kept when it is asked for again; half of the requests are for such, half for any.
    const next = () => (Math.random() < 0.5 ? pick(cached) : any());
    await loadCount(ours.port, next, connections, fillRequests);
    full.push(residentMegabytes(ours));
    await loadCount(ours.port, next, connections, fillRequests * 10);
    later.push(residentMegabytes(ours));
    await ours.stop();
  }
  const own = (list: Megabytes[]) => list.map((one) => one.own);
  const all = (list: Megabytes[]) => median(list.map((one) => one.all)).toFixed(0);
  return [
    {
      ...compared(own(later), own(full)),
      goal: 12,
      what: `memory of its own after ${(fillRequests * 10).toLocaleString('en')} more pages`,
      against: 'the same once the caches are full',
      unit: 'MB',
      aim: { max: 1.2 },
      notes: { servers, 'with what is mapped of files': `${all(later)} against ${all(full)} MB` },
    },
  ];
}

type Megabytes = { all: number; own: number };
