/**
 * The migration step for imports from another system that run again: what is stored about a source, and which records came
 * from it. `rated_at` is the time of feedback that was given here, so that an import keeps it.
 */
export const importStep: readonly string[] = [
  'ALTER TABLE messages ADD COLUMN rated_at BIGINT',
  `CREATE TABLE import_sources (
     source TEXT NOT NULL,
     name TEXT NOT NULL,
     value TEXT NOT NULL,
     PRIMARY KEY (source, name)
   )`,
  `CREATE TABLE import_source_records (
     source TEXT NOT NULL,
     kind TEXT NOT NULL,
     id TEXT NOT NULL,
     PRIMARY KEY (source, kind, id)
   )`,
];
