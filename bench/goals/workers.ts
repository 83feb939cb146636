import { pagesDatabase, shape } from '../support/databases.ts';
import { type Bench, group } from '../support/goal.ts';
import { load } from '../support/load.ts';
import { compare } from '../support/pairs.ts';
import { connections, pageSet, pick, requestEach, roundSeconds, warmSeconds } from '../support/reads.ts';
import { pageCacheMebibytes, processorSeconds, type Server, startOurs } from '../support/servers.ts';

/** Processor time with two workers, which share connections, counters, the cache's size and a writer. */
export const workers = group({
  goals: {
    two: {
      what: 'a page of a working set of 500, two workers',
      against: 'two processes with one worker each',
      why: 'that is what a user could run instead; what workers share should cost next to nothing',
      target: { max: 1.1 },
    },
  },
  prepare: pagesDatabase,
  measure,
});

async function measure(bench: Bench) {
  const { folder } = bench;
  const database = `sqlite:${await pagesDatabase(bench)}`;
  // Each worker and each process has a cache of the default size.
  const two = [await startOurs(folder, database, { WORKERS: '2', PAGE_CACHE: `${2 * pageCacheMebibytes}` })];
  const processes = [await startOurs(folder, database), await startOurs(folder, database)];
  const pages = pageSet(shape);
  for (const server of [...two, ...processes]) await requestEach(server, pages);
  const next = () => pick(pages);
  const micros =
    (servers: readonly Server[], seconds = roundSeconds) =>
    async () => {
      const used = () => servers.reduce((sum, server) => sum + processorSeconds(server), 0);
      const before = used();
      const clients = connections / servers.length;
      const loads = servers.map(({ port }) => load({ port, next, connections: clients, seconds, status: 200 }));
      const requests = (await Promise.all(loads)).reduce((sum, done) => sum + done.requests, 0);
      return ((used() - before) / requests) * 1e6;
    };
  for (const servers of [two, processes]) await micros(servers, warmSeconds)();
  const comparison = await compare(micros(two), micros(processes));
  for (const server of [...two, ...processes]) await server.stop();
  return { two: { ...comparison, unit: 'µs' } };
}
