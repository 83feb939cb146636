import { embeddedDatabase, shape } from '../support/embedded.ts';
import { loadCount } from '../support/load.ts';
import { comparisonOf, interleave, median, pointsOf } from '../support/pairs.ts';
import { connections, pageSet, pick, type Rate, randomPages, rateOf, requestEach } from '../support/reads.ts';
import type { Bench, Result } from '../support/result.ts';
import { pageCacheMebibytes, residentMegabytes, type Server, startBare, startOurs } from '../support/servers.ts';

const warmSeconds = 4;

/** Goals 14 to 17 and 20: two workers, compared with one worker and with a bare HTTP server. */
export async function measureWorkers(bench: Bench): Promise<Result[]> {
  const { folder, pairs, isSelected, log } = bench;
  const database = await embeddedDatabase(bench);
  const one = await startOurs(folder, database, { WORKERS: '1' });
  const two = await startOurs(folder, database, { WORKERS: '2' });
  const pages = pageSet(shape);
  const bytes = await requestEach(one, pages);
  const bare = await startBare(folder, { bytes });
  const results: Result[] = [];
  const add = (goal: number, result: Omit<Result, 'goal'>) => {
    if (isSelected(goal)) results.push({ goal, ...result });
  };
  const againstBare = `one bare node:http process with the same ${bytes} bytes`;
  const ofRates = (mine: Rate[], others: Rate[]) => ({
    unit: 'requests/s',
    ...comparisonOf(rates(mine), rates(others)),
  });
  try {
    if ([14, 15, 17].some(isSelected)) {
      log('a working set of pages, with one and two workers');
      const [ofOne, ofTwo, ofBare] = await measureRates([one, two, bare], () => pick(pages), pairs);
      const what = `GET /messages, embedded engine, working set of ${pages.length} pages, 2 workers`;
      add(14, { what, against: '1 worker', target: { min: 1.4 }, ...ofRates(ofTwo, ofOne) });
      add(15, { what, against: againstBare, target: { min: 0.7 }, ...ofRates(ofTwo, ofBare) });
      add(17, {
        what: 'CPU time per request of this working set, 2 workers',
        against: '1 worker',
        unit: 'µs',
        target: { max: 1.1 },
        ...comparisonOf(micros(ofTwo), micros(ofOne)),
      });
    }
    if (isSelected(16)) {
      log('uncached pages, with two workers');
      const [ofTwo, ofBare] = await measureRates([two, bare], randomPages(shape), pairs);
      const what = 'GET /messages, embedded engine, uncached pages, 2 workers';
      add(16, { what, against: againstBare, target: { min: 0.35 }, ...ofRates(ofTwo, ofBare) });
    }
  } finally {
    for (const server of [one, two, bare]) await server.stop();
  }
  if (isSelected(20)) results.push(await measureMemory(bench, database));
  if (isSelected(21)) results.push(await measureScaling(bench, database));
  return results;
}

type Rates<T extends readonly Server[]> = { [I in keyof T]: Rate[] };

/** The rates of several servers, measured in turn with the same requests. */
async function measureRates<const T extends readonly Server[]>(
  servers: T,
  next: () => string,
  rounds: number,
): Promise<Rates<T>> {
  const measured = new Map<Server, Rate[]>(servers.map((server) => [server, []]));
  for (const server of servers) await rateOf(server, next, { seconds: warmSeconds });
  const measures = servers.map((server) => async () => {
    const rate = await rateOf(server, next);
    measured.get(server)?.push(rate);
    return rate.perSecond;
  });
  await interleave(measures, rounds);
  return servers.map((server) => measured.get(server) ?? []) as Rates<T>;
}

const rates = (list: readonly Rate[]): number[] => list.map(({ perSecond }) => perSecond);
const micros = (list: readonly Rate[]): number[] => list.map(({ processorMicros }) => processorMicros);

/** Enough for each of two workers to fill its caches. */
const fillRequests = 90_000;
const memoryRounds = 3;
const addedMegabytesMax = 124;

/** Goal 20: what a second worker adds to private memory, with the default PAGE_CACHE, which the workers divide. */
async function measureMemory({ folder, pairs, log }: Bench, database: string): Promise<Result> {
  log('memory of one and two workers');
  const nextPage = randomPages(shape);
  const megabytes = (workers: number) => async () => {
    const server = await startOurs(folder, database, { WORKERS: `${workers}`, PAGE_CACHE: `${pageCacheMebibytes}` });
    const bytes = await requestEach(server, Array.from({ length: 20 }, nextPage));
    const pages = pageSet(shape, Math.ceil((pageCacheMebibytes * 2 ** 20) / bytes));
    const next = () => (Math.random() < 0.5 ? pick(pages) : nextPage());
    await loadCount(server.port, next, connections, fillRequests * workers);
    const { private: used } = residentMegabytes(server);
    await server.stop();
    return used;
  };
  const [ofTwo = [], ofOne = []] = await interleave([megabytes(2), megabytes(1)], Math.min(pairs, memoryRounds));
  const added = ofTwo.map((two, at) => two - (ofOne[at] ?? Number.NaN));
  return {
    ...comparisonOf(
      added,
      added.map(() => addedMegabytesMax),
    ),
    goal: 20,
    what: 'private memory that a second worker adds, caches full',
    against: `${addedMegabytesMax} MB`,
    unit: 'MB',
    target: { max: 1 },
    notes: { 'MB with one worker': median(ofOne), 'MB with two workers': median(ofTwo) },
  };
}

const workerCounts = [1, 2, 4];
const clientCounts = [1, 2, 4, 8, 16, 32, 64, 128];

/** Goal 21, only shown: throughput by the number of workers and of clients. */
async function measureScaling({ folder, pairs, log }: Bench, database: string): Promise<Result> {
  log('throughput by workers and clients');
  const pages = pageSet(shape);
  const next = () => pick(pages);
  const servers: Server[] = [];
  for (const workers of workerCounts) {
    const server = await startOurs(folder, database, { WORKERS: `${workers}` });
    await rateOf(server, next, { seconds: warmSeconds });
    servers.push(server);
  }
  const cells = clientCounts.flatMap((clients) => servers.map((server) => ({ server, clients })));
  const measures = cells.map(({ server, clients }) => async () => {
    return (await rateOf(server, next, { clients })).perSecond / 1000;
  });
  const measurements = await interleave(measures, Math.min(pairs, scalingRounds));
  const measurementsOf = (server: Server) => measurements.filter((_, at) => cells[at]?.server === server);
  const lines = servers.map((server, at) => ({
    label: `${workerCounts[at]} worker${workerCounts[at] === 1 ? '' : 's'}`,
    points: pointsOf(clientCounts, measurementsOf(server)),
  }));
  for (const server of servers) await server.stop();
  const bestOf = (server: Server | undefined) =>
    server === undefined ? [] : measurementsOf(server).reduce((best, one) => (median(one) > median(best) ? one : best));
  const [one, two] = servers;
  return {
    ...comparisonOf(bestOf(two), bestOf(one)),
    goal: 21,
    what: 'the same working set, 2 workers with the best number of clients',
    against: '1 worker with the best number of clients',
    unit: 'thousand requests/s',
    target: undefined,
    series: { name: 'workers', lines },
  };
}

const scalingRounds = 5;
