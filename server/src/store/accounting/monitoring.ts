import type { JobState, KeyRequestSum, KeyRequests, Monitoring } from '../../domain/store/monitoring.ts';
import type { Dialect, Engine, WriteInput } from '../base/engine.ts';
import { addInto, run, type Statement, type Write, writeRows } from '../base/statement.ts';

const hourSeconds = 3_600;

const insertKeyRequests = addInto(
  'key_requests',
  { key_id: 'text', hour: 'bigint', requests: 'bigint', client_errors: 'bigint', server_errors: 'bigint' },
  ['key_id', 'hour'],
  ['requests', 'client_errors', 'server_errors'],
);
/** The hours of the keys with the most errors. Parameters: hour, limit of keys, hour. */
export const listKeyErrors: Statement<KeyRequests & { key_name: string | null }> = `
  SELECT e.key_id, k.name AS key_name, e.hour, e.client_errors, e.server_errors
  FROM (
    SELECT key_id, SUM(client_errors + server_errors) AS errors
    FROM key_requests WHERE hour >= ? AND client_errors + server_errors > 0 GROUP BY key_id ORDER BY errors DESC, key_id LIMIT ?
  ) most
  JOIN key_requests e ON e.key_id = most.key_id AND e.hour >= ? AND e.client_errors + e.server_errors > 0
  LEFT JOIN api_keys k ON k.id = e.key_id
  ORDER BY most.errors DESC, e.key_id, e.hour`;
/** Parameters: a list of key ids, hour. */
export const sumKeyRequests = ({ isIn }: Dialect): Statement<KeyRequestSum> => `
  SELECT key_id, CAST(SUM(requests) AS BIGINT) AS requests, CAST(SUM(client_errors + server_errors) AS BIGINT) AS errors
  FROM key_requests WHERE ${isIn('key_id')} AND hour >= ? GROUP BY key_id`;
const deleteKeyRequests = 'DELETE FROM key_requests WHERE hour < ?';
/** Parameters: kind, time, bytes, millis. An older time never replaces a newer one. */
const insertSuccess = `
  INSERT INTO jobs (kind, at, bytes, millis) VALUES (?, ?, ?, ?)
  ON CONFLICT (kind) DO UPDATE
    SET at = excluded.at, bytes = excluded.bytes, millis = excluded.millis, failing_since = NULL, failure = NULL
    WHERE COALESCE(jobs.at, 0) <= excluded.at`;
/** Parameters: kind, time, reason. */
const insertFailure = `
  INSERT INTO jobs (kind, failing_since, failure) VALUES (?, ?, ?)
  ON CONFLICT (kind) DO UPDATE
    SET failing_since = COALESCE(jobs.failing_since, excluded.failing_since), failure = excluded.failure`;
const listJobs: Statement<JobState> = `
  SELECT kind, at, failing_since, failure, bytes, millis FROM jobs ORDER BY kind`;

/** In one order, so that two instances never deadlock. */
export function* addKeyRequests(requests: readonly KeyRequests[]): Write<undefined> {
  const sorted = requests.toSorted((one, other) => one.hour - other.hour || (one.key_id < other.key_id ? -1 : 1));
  yield* writeRows(
    insertKeyRequests,
    sorted.map((one) => [one.key_id, one.hour, one.requests, one.client_errors, one.server_errors]),
  );
}

export const trimKeyRequests = (hour: number): Write<undefined> => run(deleteKeyRequests, hour);

export const noteJob = ({ kind, at, failure, bytes, millis }: WriteInput<'noteJob'>): Write<undefined> =>
  failure === undefined
    ? run(insertSuccess, kind, at, bytes ?? null, millis ?? null)
    : run(insertFailure, kind, at, failure);

export const monitoring = (engine: Engine): Monitoring => ({
  databaseSize: async () => {
    const [{ bytes, instances } = { bytes: 0, instances: 1 }] = await engine.read(engine.dialect.databaseSize);
    return { bytes, instances, isEmbedded: engine.dialect.hasOneWriter };
  },
  nodes: async () => (await engine.nodes?.()) ?? [],
  connections: () => engine.connections?.() ?? { used: 0, waiting: 0 },
  sumErrors: async (hour, limit) => {
    const rows = await engine.read(listKeyErrors, hour, limit, hour);
    const byKey = Map.groupBy(rows, ({ key_id }) => key_id);
    return [...byKey].map(([key_id, ofKey]) => ({
      key_id,
      key_name: ofKey[0]?.key_name ?? null,
      client_errors: ofKey.reduce((sum, { client_errors }) => sum + client_errors, 0),
      server_errors: ofKey.reduce((sum, { server_errors }) => sum + server_errors, 0),
      hours: ofKey.map(({ hour, client_errors, server_errors }) => ({
        at: hour * hourSeconds,
        client_errors,
        server_errors,
      })),
    }));
  },
  sumRequests: (hour, key_ids) => engine.read(sumKeyRequests(engine.dialect), engine.dialect.list(key_ids), hour),
  listJobs: () => engine.read(listJobs),
});
