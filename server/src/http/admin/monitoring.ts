import { HealthReport } from '../../contract/console/health.ts';
import { Failures, Traffic } from '../../contract/console/traffic.ts';
import { limits } from '../../contract/limits.ts';
import { productVersion } from '../../contract/product.ts';
import { readState } from '../../domain/health/read-state.ts';
import { verdictsOf, worstOf } from '../../domain/health/verdicts.ts';
import { recentKeyErrors } from '../../domain/keys/key-uses.ts';
import type { FailureCount } from '../observe/failures.ts';
import type { Metrics } from '../observe/metrics.ts';
import { type Dependencies, together } from '../route-types.ts';
import { adminObject } from './routes.ts';

const version = productVersion();

/** Requests of this instance in the last hour, and whether the installation works, in words. */
export const adminMonitoringRoutes = together(
  adminObject('getTraffic', '/admin/traffic', {
    summary: 'Traffic of the last hour',
    description:
      'Requests to this instance in the last hour, in intervals of ten seconds: those to `/v1/…` and `/admin/records`, and all ' +
      'that failed. Percentiles are accurate to about a tenth.',
    response: Traffic,
    run: async ({ dependencies }) => ({
      ...dependencies.metrics.traffic.lastHour(),
      search_lag_seconds: await searchLag(dependencies),
      ...(dependencies.upstream && { upstream: await readUpstream(dependencies) }),
    }),
  }),
  adminObject('listFailures', '/admin/failures', {
    summary: 'Failed requests of the last hour',
    description:
      'Responses of this instance with a status of 400 or above, counted by status, method, route and key. A request that was ' +
      'rejected because of its key has no key, unless a valid key is of the wrong kind. `by_key` covers all ' +
      `instances and is stored every ${limits.lastUsedIntervalMillis / 1000} seconds.`,
    response: Failures,
    run: async ({ store, dependencies: { metrics, clock } }) => {
      const recent = metrics.failures.recent().slice(0, limits.failuresMax);
      const ids = [...new Set(recent.flatMap(({ key_id }) => key_id ?? []))];
      const [names, by_key] = await Promise.all([
        store.admin.findNames('api_key', ids),
        recentKeyErrors(store, clock()),
      ]);
      const seconds = (millis: number) => Math.floor(millis / 1000);
      return {
        by_key,
        data: recent.map(({ first, last, ...failure }) => ({
          ...failure,
          key_name: (failure.key_id && names.get(failure.key_id)?.name) ?? null,
          first_at: seconds(first),
          last_at: seconds(last),
        })),
      };
    },
  }),
  adminObject('getHealth', '/admin/health', {
    summary: 'Get the health in words',
    description:
      'One verdict for each part that is in use, the worst first: requests of the last hour and the upstream as this instance ' +
      'sees them; the copy of a followed Dify installation, the search, backups, retention and the database.',
    response: HealthReport,
    run: async ({ now, dependencies }) => {
      const read = await readState(dependencies, ['dify', 'copy', 'search', 'jobs', 'copies', 'size']);
      const upSeconds = process.uptime();
      const facts = {
        ...readInstance(dependencies),
        ...read,
        search: dependencies.search ?? read.search,
        backup_every: dependencies.backup_every,
      };
      const verdicts = verdictsOf({ ...facts, now, version, upSeconds });
      return {
        state: worstOf(verdicts),
        verdicts,
        version,
        started_at: Math.floor(now - upSeconds),
        instances: read.size?.instances ?? null,
        database_bytes: read.size?.bytes ?? null,
      };
    },
  }),
);

async function searchLag(dependencies: Dependencies): Promise<number | null> {
  const { search } = await readState(dependencies, ['search']);
  if (search === undefined || search.isBuilding) return null;
  return search.oldest === null ? 0 : Math.max(0, Math.floor(dependencies.clock() / 1000) - search.oldest);
}

async function readUpstream(dependencies: Dependencies) {
  const { dify, doubts } = await readState(dependencies, ['dify', 'doubts']);
  const { metrics } = dependencies;
  const statistics = metrics.upstreamStatistics();
  const at = statistics.last_error_at ?? Number.POSITIVE_INFINITY;
  const failure = failuresOf(metrics).find(({ route, last }) => route.startsWith('/v1/') && last >= at * 1000);
  return {
    ...statistics,
    last_error: lastOf(failure)?.message ?? null,
    doubts: doubts ?? null,
    messages_lag_seconds: dify?.messages_lag_seconds ?? null,
    others_lag_seconds: dify?.others_lag_seconds ?? null,
  };
}

const failuresOf = ({ failures }: Metrics) => failures.recent().filter(({ status }) => status >= 500);
const upstreamFailures = (metrics: Metrics) => failuresOf(metrics).filter(({ route }) => route === '/v1/*');

const lastOf = (failure: FailureCount | undefined) =>
  failure && {
    at: Math.floor(failure.last / 1000),
    message: failure.message || failure.code || `${failure.status} ${failure.method} ${failure.route}`,
  };

function readInstance({ metrics, upstream }: Dependencies) {
  const { data } = metrics.traffic.lastHour();
  const sum = (name: 'requests' | 'server_errors') => data.reduce((all, slot) => all + slot[name], 0);
  return {
    lastHour: { requests: sum('requests'), failed: sum('server_errors'), last: lastOf(failuresOf(metrics)[0]) },
    upstream: upstream && {
      ...metrics.upstreamStatistics(),
      isAvailable: upstream.isAvailable,
      last: lastOf(upstreamFailures(metrics)[0]),
    },
    isDamaged: metrics.hasFoundDamage,
  };
}
