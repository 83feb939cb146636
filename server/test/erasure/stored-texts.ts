import pg from 'pg';
import { filesContaining } from '../support/cli-helpers.ts';

/** Where a database has a text: its files on the embedded engine, its tables on PostgreSQL. */
export async function findText(url: string, text: string): Promise<string[]> {
  if (url.startsWith('sqlite:')) return filesContaining(url.slice('sqlite:'.length), text);
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'");
    const tables: string[] = [];
    for (const { name } of rows as { name: string }[]) {
      const hit = await client.query(`SELECT 1 FROM ${name} AS t WHERE strpos(t::text, $1) > 0 LIMIT 1`, [text]);
      if (hit.rows.length > 0) tables.push(name);
    }
    return tables.sort();
  } finally {
    await client.end();
  }
}
