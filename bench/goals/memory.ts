import { pagesDatabase, shape } from '../support/databases.ts';
import { type Bench, group } from '../support/goal.ts';
import { loadCount } from '../support/load.ts';
import { comparisonOf } from '../support/pairs.ts';
import { fullOr } from '../support/quick.ts';
import { connections, pageSet, pick, randomPages, requestEach } from '../support/reads.ts';
import { pageCacheMebibytes, residentMegabytes, startOurs } from '../support/servers.ts';

/** Enough to request every cached page again, and more single pages than the service stores tags. */
const fillRequests = fullOr(45_000, 500);
const moreRequests = fullOr(1_000_000, 2_000);

/** Private memory. Mapped pages of the database file are the system's. */
export const memory = group({
  goals: {
    flat: {
      what: 'private memory after a million more pages',
      against: 'private memory once the caches are full',
      why: 'what grows with the number of requests ends a service some day; the rest is for the allocator',
      target: { max: 1.2 },
    },
  },
  prepare: pagesDatabase,
  measure,
});

async function measure(bench: Bench) {
  const ours = await startOurs(bench.folder, `sqlite:${await pagesDatabase(bench)}`);
  const nextPage = randomPages(shape);
  const bytes = await requestEach(ours, Array.from({ length: 20 }, nextPage));
  const cachedPages = pageSet(shape, Math.ceil((pageCacheMebibytes * 2 ** 20) / bytes));
  // A page is cached when it is requested again. Half of the requests are for pages of this set, half for random pages.
  const next = () => (Math.random() < 0.5 ? pick(cachedPages) : nextPage());
  await loadCount(ours.port, next, connections, fillRequests);
  const whenFull = residentMegabytes(ours);
  await loadCount(ours.port, next, connections, moreRequests);
  const later = residentMegabytes(ours);
  await ours.stop();
  return { flat: { ...comparisonOf([later], [whenFull]), unit: 'MB' } };
}
