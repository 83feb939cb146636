import { limits } from '../server/src/contract/limits.ts';
import { embeddedDatabase, shape } from './embedded.ts';
import { loadCount } from './load.ts';
import { compared, median } from './pairs.ts';
import { anyPage, connections, visit } from './reads.ts';
import type { Bench, Result } from './result.ts';
import { residentMegabytes, startOurs } from './servers.ts';

/** Pages asked for until the cache is full: as many as it holds, twice. */
const fillings = 2;

/** Goal 12: once the caches are full, memory stays as it is. Every pair is a server of its own. */
export async function measureMemory(bench: Bench): Promise<Result[]> {
  if (process.platform !== 'linux') throw new Error('the memory of another process is only known on Linux');
  const { folder, pairs, say } = bench;
  const database = await embeddedDatabase(bench);
  const [full, later, fullOwn, laterOwn]: number[][] = [[], [], [], []];
  const next = anyPage(shape);
  let requests = 0;
  for (let pair = 0; pair < pairs; pair += 1) {
    say(`server ${pair + 1} of ${pairs}`);
    const ours = await startOurs(folder, database);
    const bytes = await visit(ours, Array.from({ length: 20 }, next));
    requests = Math.ceil((limits.pageCacheBytesMax * fillings) / bytes);
    await loadCount(ours.port, next, connections, requests);
    const first = residentMegabytes(ours);
    await loadCount(ours.port, next, connections, requests * 9);
    const second = residentMegabytes(ours);
    await ours.stop();
    full?.push(first.all);
    later?.push(second.all);
    fullOwn?.push(first.own);
    laterOwn?.push(second.own);
  }
  const own = `${median(laterOwn ?? []).toFixed(0)} against ${median(fullOwn ?? []).toFixed(0)} MB`;
  return [
    {
      ...compared(later ?? [], full ?? []),
      goal: 12,
      what: `resident memory after ${(requests * 10).toLocaleString('en')} pages at random`,
      against: `after ${requests.toLocaleString('en')}, which fill the caches`,
      unit: 'MB',
      aim: { max: 1.2 },
      notes: { 'of it not part of a file': own },
    },
  ];
}
