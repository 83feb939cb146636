import type { BackupKind, KeyErrors, Monitoring, NodeState } from '../../domain/store/monitoring.ts';
import type { Engine, MonitoringChange } from '../engine.ts';
import { execute, insertInto, type RowStatements, type Statement, type Write, writeRows } from '../statement.ts';

/** The SQL about what operators watch, which both engines share. */

export const addKeyErrors: RowStatements = {
  ...insertInto(
    'key_errors',
    { key_id: 'text', hour: 'bigint', client_errors: 'bigint', server_errors: 'bigint' },
    `ON CONFLICT (key_id, hour) DO UPDATE SET
       client_errors = key_errors.client_errors + excluded.client_errors,
       server_errors = key_errors.server_errors + excluded.server_errors`,
  ),
  isUndistributed: true,
};
/** Parameters: hour, limit. */
export const sumKeyErrors: Statement<Omit<KeyErrors, 'hour'> & { key_name: string | null }> = `
  SELECT e.key_id, k.name AS key_name, e.client_errors, e.server_errors
  FROM (
    SELECT key_id, CAST(SUM(client_errors) AS BIGINT) AS client_errors, CAST(SUM(server_errors) AS BIGINT) AS server_errors
    FROM key_errors WHERE hour >= ? GROUP BY key_id
  ) e LEFT JOIN api_keys k ON k.id = e.key_id
  ORDER BY e.client_errors + e.server_errors DESC, e.key_id LIMIT ?`;
const trimKeyErrors = 'DELETE FROM key_errors WHERE hour < ?';
/** Parameters: kind, time. An older time never replaces a newer one. */
const noteBackup = `
  INSERT INTO backups (kind, at) VALUES (?, ?)
  ON CONFLICT (kind) DO UPDATE SET at = excluded.at WHERE backups.at < excluded.at`;
const listBackups: Statement<{ kind: BackupKind; at: number }> = 'SELECT kind, at FROM backups ORDER BY kind';

export function* changeMonitoring(change: MonitoringChange): Write<undefined> {
  if ('backup' in change) yield* execute(noteBackup, change.backup, change.at);
  else if ('trim' in change) yield* execute(trimKeyErrors, change.trim);
  else {
    // In one order, so that two instances never deadlock.
    const sorted = change.errors.toSorted(
      (one, other) => one.hour - other.hour || (one.key_id < other.key_id ? -1 : 1),
    );
    const rows = sorted.map(({ key_id, hour, client_errors, server_errors }) => [
      ...[key_id, hour, client_errors, server_errors],
    ]);
    yield* writeRows(addKeyErrors, rows);
  }
  return undefined;
}

export class SqlMonitoring implements Monitoring {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async databaseBytes(): Promise<number> {
    const [row] = await this.#engine.read(this.#engine.dialect.databaseBytes);
    return row?.bytes ?? 0;
  }

  async nodes(): Promise<NodeState[]> {
    return (await this.#engine.nodes?.()) ?? [];
  }

  connections(): { used: number; waiting: number } {
    return this.#engine.connections?.() ?? { used: 0, waiting: 0 };
  }

  addErrors(errors: readonly KeyErrors[]): Promise<void> {
    return this.#change({ errors });
  }

  sumErrors(hour: number, limit: number): ReturnType<Monitoring['sumErrors']> {
    return this.#engine.read(sumKeyErrors, hour, limit);
  }

  trimErrors(hour: number): Promise<void> {
    return this.#change({ trim: hour });
  }

  noteBackup(kind: BackupKind, at: number): Promise<void> {
    return this.#change({ backup: kind, at });
  }

  listBackups(): ReturnType<Monitoring['listBackups']> {
    return this.#engine.read(listBackups);
  }

  #change(change: MonitoringChange): Promise<void> {
    return this.#engine.write('changeMonitoring', change);
  }
}
