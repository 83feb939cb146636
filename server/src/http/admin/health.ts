import { HealthReport } from '../../contract/console/health.ts';
import { productVersion } from '../../contract/product.ts';
import { verdictsOf, worstOf } from '../../domain/health/verdicts.ts';
import { indexLag } from '../../domain/search/search-indexer.ts';
import { copyProgress, followLag } from '../../domain/store/import-sources.ts';
import type { FailureCount } from '../observe/failures.ts';
import type { Dependencies } from '../route-types.ts';
import { allInTime } from '../v1/health.ts';
import { adminObject } from './routes.ts';

const version = productVersion();

/** Whether the installation works, in words. */
export const adminHealthRoutes = adminObject({
  url: '/admin/health',
  operationId: 'getHealth',
  summary: 'Get the health in words',
  description:
    'One verdict for each part that is in use, the worst first: requests of the last hour and the upstream as this instance ' +
    'sees them; the copy of a followed Dify installation, the search, backups, retention and the database.',
  response: HealthReport,
  run: async ({ now, dependencies }) => {
    const read = await readDatabase(dependencies);
    const upSeconds = process.uptime();
    const { backup_every } = dependencies;
    const verdicts = verdictsOf({ ...readInstance(dependencies), ...read, backup_every, now, version, upSeconds });
    return {
      state: worstOf(verdicts),
      verdicts,
      version,
      started_at: Math.floor(now - upSeconds),
      instances: read.size?.instances ?? null,
      database_bytes: read.size?.bytes ?? null,
    };
  },
});

async function readDatabase({ store, clock, search: whyOff, owned }: Dependencies) {
  const read = await allInTime({
    dify: followLag(store, clock()),
    copy: owned && copyProgress(store),
    search: whyOff === undefined ? indexLag(store) : undefined,
    jobs: store.monitoring.listJobs(),
    copies: store.erasure.readCopies(),
    size: store.monitoring.databaseSize(),
  });
  return { ...read, search: whyOff ?? read.search };
}

function readInstance({ metrics, upstream }: Dependencies) {
  const { data } = metrics.traffic.lastHour();
  const failures = metrics.failures.recent().filter(({ status }) => status >= 500);
  const last = (failure: FailureCount | undefined) =>
    failure && {
      at: Math.floor(failure.last / 1000),
      message: failure.message || failure.code || `${failure.status} ${failure.method} ${failure.route}`,
    };
  const sum = (name: 'requests' | 'server_errors') => data.reduce((all, slot) => all + slot[name], 0);
  return {
    lastHour: { requests: sum('requests'), failed: sum('server_errors'), last: last(failures[0]) },
    upstream: upstream && {
      ...metrics.upstreamStatistics(),
      isAvailable: upstream.isAvailable,
      last: last(failures.find(({ route }) => route === '/v1/*')),
    },
    isDamaged: metrics.hasFoundDamage,
  };
}
