import type { Failures } from '../../contract/console/traffic.ts';
import type { Tombstone } from './erasure.ts';

/** Requests of a key in one hour, and how many of them failed: the number of the hour since the epoch. */
export type KeyRequests = {
  key_id: string;
  hour: number;
  requests: number;
  client_errors: number;
  server_errors: number;
};
/** Requests of a key in several hours, and how many of them failed. */
export type KeyRequestSum = { key_id: string; requests: number; errors: number };

/** Failed requests of a key in several hours: their sum, and the hours that have any, oldest first. */
export type KeyErrorSum = Failures['by_key'][number];

/**
 * A copy of the data: with `backscroll backup`, to the store of BACKUP_URL, or as records with `backscroll export`; or the
 * retention.
 */
export type JobKind = 'backup' | 'export' | 'store' | 'retention';

/** `bytes`: its size, and `millis`: how long it took, for a store of backups. */
export type JobNote = { kind: JobKind; at: number; failure?: string; bytes?: number; millis?: number };

/**
 * `at`: the time of the last success, with its size and duration. `failing_since`: the first failure after it, with the last
 * reason. Times are in seconds.
 */
export type JobState = {
  kind: JobKind;
  at: number | null;
  failing_since: number | null;
  failure: string | null;
  bytes: number | null;
  millis: number | null;
};

/** What is known of a copy of the embedded database. `created_at`: all changes before this time in seconds are in it. */
export type DatabaseFacts = {
  created_at: number;
  schema: number;
  /** Of the change feed. */
  epoch: string;
  /** The number of records by kind. */
  records: Record<string, number>;
  /** The ids of keys that are not revoked. */
  valid_keys: string[];
};

/** What an old database knows of changes that a restored one may not have. */
export type LaterChanges = { tombstones: Tombstone[]; valid_keys: string[] };

/** A node of a cluster as `host:port`. `state` is undefined if it does not respond soon. */
export type NodeState = { name: string; state: { backends: number; oldestPreparedSeconds: number } | undefined };

export type DatabaseSize = { bytes: number; instances: number; isEmbedded: boolean };

/** What operators watch of a database, over all instances that use it. */
export interface Monitoring {
  /** The size of the database in bytes, on a cluster that of the node that responds; and the instances that are connected. */
  databaseSize(): Promise<DatabaseSize>;
  /** The nodes of a cluster, by name; none if the database is no cluster. */
  nodes(): Promise<NodeState[]>;
  /** Connections of this thread that are in use, and requests that wait for one. None on the embedded engine. */
  connections(): { used: number; waiting: number };
  /** Failed requests by key, from an hour on; at most `limit` keys, those with the most errors first. */
  sumErrors(hour: number, limit: number): Promise<KeyErrorSum[]>;
  /** Requests of these keys from an hour on. */
  sumRequests(hour: number, key_ids: readonly string[]): Promise<KeyRequestSum[]>;
  /** The latest run of each job. */
  listJobs(): Promise<JobState[]>;
}
