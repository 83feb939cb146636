import { type DifyConnection, SourceUnavailable } from './connection.ts';
import type { DifySource, SourcePoint } from './source.ts';

/** Reads points of a source. Its server is identified once per connection: another one may respond after an outage. */
export function pointReader(source: DifyConnection, warn: (text: string) => void): () => Promise<SourcePoint> {
  let identified = { server: '', connection: 0 };
  return async () => {
    for (;;) {
      if (identified.connection !== source.connections) {
        const { server, isExact } = await readServer(source);
        if (!isExact) warn(inexact);
        identified = { server, connection: source.connections };
      }
      const [row] = await source.query<{ xid: string; time: string }>(
        `SELECT txid_snapshot_xmin(txid_current_snapshot())::text AS xid, extract(epoch FROM now())::text AS time`,
        [],
      );
      const { server, connection } = identified;
      if (connection === source.connections) return { server, xid: row?.xid ?? '0', time: Number(row?.time) };
    }
  };
}

const inexact =
  'the role of the source may not call pg_control_system() and pg_control_checkpoint(): a failover cannot be recognized, ' +
  'so run an import with --force after one';

const database = '(SELECT oid FROM pg_database WHERE datname = current_database())';
const withTimeline = `concat_ws(' ', (SELECT system_identifier FROM pg_control_system()), ${database}) || '/' ||
  (SELECT timeline_id FROM pg_control_checkpoint())`;
/** Object ids are given in the order of creation: those of a restored copy differ. */
const withoutPrivilege = `concat_ws(' ', ${database}, to_regclass('tenants')::oid, to_regclass('messages')::oid) || '/'`;

/**
 * Identifies the server and its history: after a restore or a failover, transactions are numbered differently. What comes
 * before the `/` identifies the server alone.
 */
async function readServer(source: DifySource): Promise<{ server: string; isExact: boolean }> {
  const read = async (identity: string): Promise<string> => {
    const [row] = await source.query<{ server: string }>(`SELECT ${identity} AS server`, []);
    return row?.server ?? '';
  };
  try {
    return { server: await read(withTimeline), isExact: true };
  } catch (error) {
    if (error instanceof SourceUnavailable) throw error;
    return { server: await read(withoutPrivilege), isExact: false };
  }
}

/** Whether the source is a copy of another server: its rows may be old. */
export async function readIsStandby(source: DifySource): Promise<boolean> {
  const [row] = await source.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby', []);
  return row?.standby === true;
}
