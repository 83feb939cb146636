import { citusUrl, nodesOf, onNode, urlOf } from '../citus/cluster.ts';
import { filesContaining } from '../support/cli-helpers.ts';

/** Where a database has a text: its files on the embedded engine, its tables on PostgreSQL, on every node of a cluster. */
export async function findText(url: string, text: string): Promise<string[]> {
  if (url.startsWith('sqlite:')) return filesContaining(url.slice('sqlite:'.length), text);
  const found = await Promise.all((await serversOf(url)).map((server) => tablesContaining(server, text)));
  return [...new Set(found.flat())].sort();
}

async function serversOf(url: string): Promise<string[]> {
  if (citusUrl === undefined) return [url];
  const database = new URL(url).pathname.slice(1);
  return (await nodesOf(url)).map((node) => urlOf(database, node));
}

/** The tables of one server that have a text. A shard is read as a table and listed as its table. */
const tablesContaining = (server: string, text: string): Promise<string[]> =>
  onNode(server, async (client) => {
    // Citus hides its shards, also those that a failed operation has left behind.
    if (citusUrl !== undefined) await client.query('SET citus.override_table_visibility = off');
    const { rows } = await client.query("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'");
    const tables: string[] = [];
    for (const { name } of rows as { name: string }[]) {
      const hit = await client.query(`SELECT 1 FROM ${name} AS t WHERE strpos(t::text, $1) > 0 LIMIT 1`, [text]);
      if (hit.rows.length > 0) tables.push(name.replace(/_[0-9]+$/, ''));
    }
    return tables;
  });
