import type { JobState, KeyErrors, Monitoring } from '../../domain/store/monitoring.ts';
import type { Engine, WriteInput } from '../base/engine.ts';
import { execute, insertInto, type RowStatements, type Statement, type Write, writeRows } from '../base/statement.ts';

/** The SQL about what operators watch, which both engines share. */

const hourSeconds = 3_600;

export const insertKeyErrors: RowStatements = {
  ...insertInto(
    'key_errors',
    { key_id: 'text', hour: 'bigint', client_errors: 'bigint', server_errors: 'bigint' },
    `ON CONFLICT (key_id, hour) DO UPDATE SET
       client_errors = key_errors.client_errors + excluded.client_errors,
       server_errors = key_errors.server_errors + excluded.server_errors`,
  ),
  isUndistributed: true,
};
/** The hours of the keys with the most errors. Parameters: hour, limit of keys, hour. */
export const listKeyErrors: Statement<KeyErrors & { key_name: string | null }> = `
  SELECT e.key_id, k.name AS key_name, e.hour, e.client_errors, e.server_errors
  FROM (
    SELECT key_id, SUM(client_errors + server_errors) AS errors
    FROM key_errors WHERE hour >= ? GROUP BY key_id ORDER BY errors DESC, key_id LIMIT ?
  ) most
  JOIN key_errors e ON e.key_id = most.key_id AND e.hour >= ?
  LEFT JOIN api_keys k ON k.id = e.key_id
  ORDER BY most.errors DESC, e.key_id, e.hour`;
const deleteKeyErrors = 'DELETE FROM key_errors WHERE hour < ?';
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
export function* addKeyErrors(errors: readonly KeyErrors[]): Write<undefined> {
  const sorted = errors.toSorted((one, other) => one.hour - other.hour || (one.key_id < other.key_id ? -1 : 1));
  yield* writeRows(
    insertKeyErrors,
    sorted.map(({ key_id, hour, client_errors, server_errors }) => [key_id, hour, client_errors, server_errors]),
  );
  return undefined;
}

export function* trimKeyErrors(hour: number): Write<undefined> {
  yield* execute(deleteKeyErrors, hour);
  return undefined;
}

export function* noteJob({ kind, at, failure, bytes, millis }: WriteInput<'noteJob'>): Write<undefined> {
  if (failure === undefined) yield* execute(insertSuccess, kind, at, bytes ?? null, millis ?? null);
  else yield* execute(insertFailure, kind, at, failure);
  return undefined;
}

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
  listJobs: () => engine.read(listJobs),
});
