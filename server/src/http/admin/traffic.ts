import { Failures, Traffic } from '../../contract/console/traffic.ts';
import { limits } from '../../contract/limits.ts';
import { recentKeyErrors } from '../../domain/keys/key-uses.ts';
import { followLag } from '../../domain/store/import-sources.ts';
import { type Dependencies, together } from '../route-types.ts';
import { allInTime } from '../v1/health.ts';
import { adminObject } from './routes.ts';

/** Requests of this instance in the last hour. */
export const adminTrafficRoutes = together(
  adminObject({
    url: '/admin/traffic',
    operationId: 'getTraffic',
    summary: 'Traffic of the last hour',
    description:
      'Requests to this instance in the last hour, in intervals of ten seconds: those to `/v1/…` and `/admin/records`, and all ' +
      'that failed. Percentiles are accurate to about a tenth.',
    response: Traffic,
    run: async ({ dependencies }) => ({
      ...dependencies.metrics.traffic.lastHour(),
      ...(dependencies.upstream && { upstream: await readUpstream(dependencies) }),
    }),
  }),
  adminObject({
    url: '/admin/failures',
    operationId: 'listFailures',
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
        data: recent.map(({ status, method, route, key_id, count, first, last, request_id, code, message }) => ({
          ...{ status, method, route, key_id, key_name: (key_id && names.get(key_id)?.name) ?? null, count },
          ...{ first_at: seconds(first), last_at: seconds(last), request_id, code, message },
        })),
      };
    },
  }),
);

async function readUpstream({ metrics, store, owned }: Dependencies) {
  const { lag, doubts } = await allInTime({
    lag: followLag(store, Date.now()),
    doubts: owned && store.doubts.count(),
  });
  return {
    ...metrics.upstreamStatistics(),
    doubts: doubts ?? null,
    messages_lag_seconds: lag?.messages_lag_seconds ?? null,
    others_lag_seconds: lag?.others_lag_seconds ?? null,
  };
}
