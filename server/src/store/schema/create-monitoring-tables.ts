/** Requests of keys, and how many failed, of the last day, by hour; and the latest run of each job. */
export const createMonitoringTables: readonly string[] = [
  `CREATE TABLE key_requests (
     key_id TEXT NOT NULL,
     hour BIGINT NOT NULL,
     requests BIGINT NOT NULL,
     client_errors BIGINT NOT NULL,
     server_errors BIGINT NOT NULL,
     PRIMARY KEY (key_id, hour)
   )`,
  `CREATE TABLE jobs (
     kind TEXT NOT NULL PRIMARY KEY,
     at BIGINT,
     failing_since BIGINT,
     failure TEXT,
     bytes BIGINT,
     millis BIGINT
   )`,
];

/** PostgreSQL has this table before any other, since a migration needs a lease. */
export const createLeases: readonly string[] = [
  `CREATE TABLE leases (
     name TEXT NOT NULL PRIMARY KEY,
     holder TEXT NOT NULL,
     expires_at BIGINT NOT NULL
   )`,
];
