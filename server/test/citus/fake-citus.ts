import { onDatabase } from '../support/faulty-postgres.ts';

/**
 * A fake of the extension: its name in the catalog, its table of distributed tables, and its two functions with the
 * rules that they enforce. It moves no rows.
 */
const fakeCitus = [
  `INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
   SELECT 99999, 'citus', oid, 'public'::regnamespace, false, '13.0-1' FROM pg_roles WHERE rolname = current_user`,
  `CREATE TABLE pg_dist_partition (
     logicalrelid regclass PRIMARY KEY, partmethod text, partkey text, colocationid int
   )`,
  `CREATE TABLE pg_dist_local_group AS SELECT 0 AS groupid`,
  `CREATE FUNCTION truncate_local_data_after_distributing_table(table_name regclass) RETURNS void LANGUAGE plpgsql AS
   $$ BEGIN
     IF NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = table_name) THEN RAISE 'is not distributed'; END IF;
   END $$`,
  `CREATE FUNCTION create_reference_table(table_name regclass) RETURNS void LANGUAGE sql AS
   $$ INSERT INTO pg_dist_partition VALUES (table_name, 'n', NULL, 0) $$`,
  `CREATE FUNCTION create_distributed_table(table_name regclass, distribution_column text,
     distribution_type text DEFAULT 'hash', colocate_with text DEFAULT 'default', shard_count int DEFAULT NULL)
   RETURNS void LANGUAGE plpgsql AS $$
   DECLARE
     key_column int2 := (SELECT attnum FROM pg_attribute WHERE attrelid = table_name AND attname = distribution_column);
     -- Without a column, all rows are in one shard.
     method text := CASE WHEN distribution_column IS NULL THEN 'n' ELSE 'h' END;
     colocated pg_dist_partition;
   BEGIN
     IF method = 'h' AND key_column IS NULL THEN RAISE 'column % does not exist', distribution_column; END IF;
     IF EXISTS (SELECT FROM pg_index WHERE indrelid = table_name AND indisunique AND NOT key_column = ANY(indkey::int2[])) THEN
       RAISE 'cannot create constraint on % that does not include the distribution column', table_name;
     END IF;
     IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = table_name AND contype IN ('f', 'x')) THEN
       RAISE 'foreign keys are not supported';
     END IF;
     IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = table_name) THEN RAISE 'triggers are not supported'; END IF;
     IF colocate_with = 'none' THEN
       INSERT INTO pg_dist_partition
       SELECT table_name, method, distribution_column, 1 + coalesce(max(colocationid), 0) FROM pg_dist_partition;
     ELSE
       SELECT * INTO colocated FROM pg_dist_partition WHERE logicalrelid = colocate_with::regclass AND partmethod = method;
       IF colocated IS NULL THEN RAISE 'relation % is not distributed', colocate_with; END IF;
       INSERT INTO pg_dist_partition VALUES (table_name, method, distribution_column, colocated.colocationid);
     END IF;
   END $$`,
];

export const installFakeCitus = (url: string): Promise<void> =>
  onDatabase(url, async (client) => {
    for (const statement of fakeCitus) await client.query(statement);
  });
