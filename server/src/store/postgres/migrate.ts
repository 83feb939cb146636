import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { asError } from '../../domain/errors.ts';
import { takeLease } from '../base/leases.ts';
import type { Statement } from '../base/statement.ts';
import { type Migration, type SchemaStatus, statusAt } from '../schema/schema.ts';
import { distribute, findCluster, patience, remainingTables } from './citus/distribute.ts';
import type { PostgresPool, Transaction } from './pool/pool.ts';
import { leaseTable } from './server/statements.ts';

/** The time that other processes wait after the one that migrates has died. While it runs, it renews its lease in time. */
const leaseSeconds = 15;
const renewMillis = 3_000;
const pollMillis = 200;
/** Error codes: the table, or its row type, already exists. */
const duplicates = ['42P07', '42710'];
const waitMillis = 300_000;
/** Building an index on a large table takes long. */
const statementMillis = 3_600_000;

const versionsTable = `
  CREATE TABLE IF NOT EXISTS schema_migrations (
    version BIGINT NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    applied_at BIGINT NOT NULL
  )`;

const findCompression: Statement<{ has_lz4: boolean }> = `
  SELECT 'lz4' = ANY(enumvals) AS has_lz4 FROM pg_settings WHERE name = 'default_toast_compression'`;

export async function postgresSchemaStatus(pool: PostgresPool): Promise<SchemaStatus> {
  const [table] = await pool.query(`SELECT to_regclass('schema_migrations') AS found`);
  const current = table?.found === null ? 0 : await currentVersion(pool);
  return { ...statusAt(current, 'postgres'), undistributed: remainingTables(await findCluster(pool)) };
}

async function currentVersion(database: Pick<Transaction, 'query'>): Promise<number> {
  const [row] = await database.query('SELECT MAX(version) AS version FROM schema_migrations');
  return Number(row?.version ?? 0);
}

/** One process at a time migrates, under a lease that expires soon after the process ends; the others wait until it is done. */
export async function migratePostgres(pool: PostgresPool, citus: boolean): Promise<readonly Migration[]> {
  const isCurrent = async () => {
    const { pending, undistributed } = await postgresSchemaStatus(pool);
    return !citus && pending.length === 0 && undistributed.length === 0;
  };
  if (await isCurrent()) return [];
  const cluster = await findCluster(pool);
  if (cluster?.isCoordinator === false)
    throw new Error('this is a worker node of a Citus cluster: run backscroll migrate on its coordinator first');
  if (citus && cluster === undefined) throw new Error('the database does not have the extension citus');
  await createTable(pool, leaseTable);
  await createTable(pool, versionsTable);
  const holder = randomUUID();
  const deadline = performance.now() + waitMillis;
  while (!(await takeMigrationLease(pool, holder, leaseSeconds))) {
    if (await isCurrent()) return [];
    if (performance.now() > deadline) throw new Error('another process has been migrating the database for too long');
    await sleep(pollMillis);
  }
  const renewal = setInterval(
    () => void takeMigrationLease(pool, holder, leaseSeconds).catch(() => false),
    renewMillis,
  );
  try {
    const { pending, current, undistributed } = await postgresSchemaStatus(pool);
    // A database that was in use before the extension was installed is distributed only on request.
    const isCluster = citus || undistributed.length > 0 || (cluster !== undefined && current === 0);
    if (isCluster) await distribute(pool);
    for (const migration of pending) {
      await pool.transaction(async (transaction) => {
        if (isCluster) await transaction.query(patience);
        await apply(transaction, migration);
      }, statementMillis);
      if (isCluster) await distribute(pool);
    }
    return pending;
  } finally {
    clearInterval(renewal);
    await takeMigrationLease(pool, holder, 0).catch(() => false);
  }
}

/**
 * Two concurrent CREATE TABLE can conflict in the catalog in spite of IF NOT EXISTS. Usually the pool retries; sometimes the
 * server reports that the table exists, which is the desired result.
 */
async function createTable(pool: PostgresPool, statement: string): Promise<void> {
  try {
    await pool.query(statement);
  } catch (error) {
    if (!duplicates.includes(asError(error).code ?? '')) throw error;
  }
}

async function takeMigrationLease(pool: PostgresPool, holder: string, seconds: number): Promise<boolean> {
  const now = Math.floor(Date.now() / 1000);
  return (await pool.query(`${takeLease} RETURNING holder`, 'migrate', holder, now + seconds, now)).length > 0;
}

async function apply(transaction: Transaction, migration: Migration): Promise<void> {
  const { version, name, statements, withLz4 = [] } = migration;
  // Already done if this is a retry after a COMMIT whose response was lost.
  if ((await currentVersion(transaction)) >= version) return;
  const now = Math.floor(Date.now() / 1000);
  // This must be the first statement: another process at this step, whose lease has expired, waits here for its commit.
  await transaction.query(
    'INSERT INTO schema_migrations (version, name, applied_at) VALUES (?, ?, ?)',
    version,
    name,
    now,
  );
  for (const statement of statements) await transaction.query(statement);
  const [compression] = await transaction.query(findCompression);
  if (compression?.has_lz4 === true) for (const statement of withLz4) await transaction.query(statement);
}
