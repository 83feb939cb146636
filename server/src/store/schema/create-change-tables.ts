/**
 * The tables of the change feed. `changes` has one row for each record that was changed, with the position of its last change.
 * Writers add rows to `change_outbox`: which records a transaction has changed. A reader moves them to `changes` with their positions,
 * with the row of `changes_head` locked. Its key is the position: every other index has a copy of the key, and the key of a record
 * has two ids.
 */
const tables = (randomText: string): readonly string[] => [
  `CREATE TABLE changes_head (
     name TEXT NOT NULL PRIMARY KEY,
     epoch TEXT NOT NULL,
     position BIGINT NOT NULL
   )`,
  `INSERT INTO changes_head (name, epoch, position) VALUES ('head', ${randomText}, 0)`,
  `CREATE TABLE change_outbox (
     id TEXT NOT NULL,
     scope TEXT NOT NULL,
     at BIGINT NOT NULL,
     entries TEXT NOT NULL,
     PRIMARY KEY (id, scope)
   )`,
  `CREATE TABLE changes (
     position BIGINT NOT NULL PRIMARY KEY,
     kind TEXT NOT NULL,
     scope TEXT NOT NULL,
     id TEXT NOT NULL,
     at BIGINT NOT NULL,
     workspace_id TEXT NOT NULL,
     owner TEXT
   )`,
  'CREATE UNIQUE INDEX changes_by_record ON changes (kind, scope, id)',
  'CREATE INDEX changes_by_workspace ON changes (workspace_id, position)',
];

export const createChangeTables = {
  sqlite: tables('lower(hex(randomblob(6)))'),
  postgres: tables('substr(md5(random()::text), 1, 12)'),
} as const;
