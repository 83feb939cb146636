import { embeddedDatabase, shape } from '../support/embedded.ts';
import { loadCount } from '../support/load.ts';
import { comparisonOf, median } from '../support/pairs.ts';
import { connections, pageSet, pick, randomPages, requestEach } from '../support/reads.ts';
import type { Bench, Result } from '../support/result.ts';
import { pageCacheMebibytes, residentMegabytes, startOurs } from '../support/servers.ts';

/** Enough to request every cached page again, and more single pages than the service stores tags. */
const fillRequests = 45_000;
/** Each server takes most of a minute, and they hardly differ. */
const serversMax = 3;

/**
 * Goal 12: once the caches are full, memory does not grow. The ratio is of private memory; the total with mapped pages of
 * the database file is shown as a note. Every pair is measured on a new server.
 */
export async function measureMemory(bench: Bench): Promise<Result[]> {
  if (process.platform !== 'linux') throw new Error('the memory of another process can only be measured on Linux');
  const { folder, log } = bench;
  const servers = Math.min(bench.pairs, serversMax);
  const database = await embeddedDatabase(bench);
  const whenFull: Megabytes[] = [];
  const later: Megabytes[] = [];
  const nextPage = randomPages(shape);
  for (let at = 0; at < servers; at += 1) {
    log(`server ${at + 1} of ${servers}`);
    const ours = await startOurs(folder, database);
    const bytes = await requestEach(ours, Array.from({ length: 20 }, nextPage));
    const cachedPages = pageSet(shape, Math.ceil((pageCacheMebibytes * 2 ** 20) / bytes));
    // A page is cached when it is requested again. Half of the requests are for pages of this set, half for random pages.
    const next = () => (Math.random() < 0.5 ? pick(cachedPages) : nextPage());
    await loadCount(ours.port, next, connections, fillRequests);
    whenFull.push(residentMegabytes(ours));
    await loadCount(ours.port, next, connections, fillRequests * 10);
    later.push(residentMegabytes(ours));
    await ours.stop();
  }
  const privateOf = (list: Megabytes[]) => list.map((one) => one.private);
  const totalOf = (list: Megabytes[]) => median(list.map((one) => one.total)).toFixed(0);
  return [
    {
      ...comparisonOf(privateOf(later), privateOf(whenFull)),
      goal: 12,
      what: `private memory after ${(fillRequests * 10).toLocaleString('en')} more pages`,
      against: 'private memory once the caches are full',
      unit: 'MB',
      target: { max: 1.2 },
      notes: { servers, 'including mapped files': `${totalOf(later)} against ${totalOf(whenFull)} MB` },
    },
  ];
}

type Megabytes = { total: number; private: number };
