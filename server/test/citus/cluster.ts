import pg from 'pg';

/**
 * Databases on a Citus cluster, for `CITUS_URL=postgres://… npm run test:citus`. CITUS_URL names a database in which the
 * coordinator knows its workers; its user is a superuser on every node. Every test database is a copy of one template.
 */

const template = 'backscroll_test_template';
/** Few shards, so that distributing the tables of a new database takes a moment. */
export const shardCount = 4;

export const citusUrl = process.env.CITUS_URL || undefined;

/** The same address, user and password with another database or another node. */
export function urlOf(database: string, node?: { host: string; port: number }): string {
  const url = new URL(citusUrl ?? '');
  url.pathname = `/${database}`;
  if (node !== undefined) {
    url.hostname = node.host;
    url.port = `${node.port}`;
  }
  return url.href;
}

export async function onNode<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

type Node = { host: string; port: number; isCoordinator: boolean };

/** The nodes of the cluster, the coordinator first. */
export function nodesOf(url: string): Promise<Node[]> {
  return onNode(url, async (client) => {
    const { rows } = await client.query(
      `SELECT nodename AS host, nodeport AS port, groupid = 0 AS "isCoordinator"
       FROM pg_dist_node WHERE isactive AND noderole = 'primary' ORDER BY groupid`,
    );
    if (!rows[0]?.isCoordinator)
      throw new Error('CITUS_URL: run citus_set_coordinator_host and citus_add_node there first');
    return rows;
  });
}

let nodes: Promise<Node[]> | undefined;
const allNodes = () => (nodes ??= nodesOf(citusUrl ?? ''));

/** Runs in one database of every node. */
export async function onEveryNode<T>(
  database: string,
  work: (client: pg.Client, node: Node) => Promise<T>,
): Promise<T[]> {
  const all = await allNodes();
  return Promise.all(all.map((node) => onNode(urlOf(database, node), (client) => work(client, node))));
}

/** The addresses of a database on the worker nodes. */
export async function workerUrls(url: string): Promise<string[]> {
  const database = new URL(url).pathname.slice(1);
  return (await allNodes()).filter((node) => !node.isCoordinator).map((node) => urlOf(database, node));
}

/** Creates the template on every node: the extension, and the list of nodes. */
export async function createTemplate(): Promise<void> {
  await dropDatabase(template);
  await createPlainDatabase(template);
  await installCitus(template);
  // The extension's daemon stays connected to a database that was used, and a database in use cannot be copied.
  await onEveryNode('postgres', async (client) => {
    await client.query(`ALTER DATABASE ${template} ALLOW_CONNECTIONS false`);
    await client.query('SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1', [template]);
  });
}

/** Creates a database without the extension. */
export async function createPlainDatabase(name: string): Promise<void> {
  await onEveryNode('postgres', (client) => client.query(`CREATE DATABASE ${name}`));
}

export async function installCitus(name: string): Promise<void> {
  await onEveryNode(name, (client) => client.query('CREATE EXTENSION citus'));
  const [coordinator, ...workers] = await allNodes();
  await onNode(urlOf(name), async (client) => {
    await client.query('SELECT citus_set_coordinator_host($1, $2)', [coordinator?.host, coordinator?.port]);
    for (const { host, port } of workers) await client.query('SELECT citus_add_node($1, $2)', [host, port]);
  });
}

export async function createDatabase(name: string): Promise<void> {
  await onEveryNode('postgres', (client) => client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`));
  await onNode(urlOf('postgres'), (client) =>
    client.query(`ALTER DATABASE ${name} SET citus.shard_count = ${shardCount}`),
  );
}

const objectInUse = '55006';

/** A service that is still running may be between the two phases of a commit. */
export async function dropDatabase(name: string): Promise<void> {
  await onEveryNode('postgres', async (client, node) => {
    const drop = () => client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await drop().catch(async (error) => {
      if (error.code !== objectInUse) throw error;
      await onNode(urlOf(name, node), rollBackPrepared);
      await drop();
    });
  });
}

async function rollBackPrepared(client: pg.Client): Promise<void> {
  const { rows } = await client.query('SELECT gid FROM pg_prepared_xacts WHERE database = current_database()');
  for (const { gid } of rows) await client.query(`ROLLBACK PREPARED '${gid}'`);
}

/** Selects the sessions that wait for a lock, on any node. */
export const lockWaits =
  citusUrl === undefined
    ? `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    : 'SELECT 1 FROM citus_lock_waits';
