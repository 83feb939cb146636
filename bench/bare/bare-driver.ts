import pg from 'pg';
import { pageStatement } from '../../server/src/store/postgres/server/statements.ts';
import { app_id, conversationId, messageId } from '../support/data.ts';
import { shape } from '../support/databases.ts';
import { pageMessages, randomCursor } from '../support/reads.ts';
import { serveHelper } from '../support/servers.ts';

/** The upper bound on PostgreSQL: the page statement and the driver, and nothing else. */

const [connectionString] = process.argv.slice(2);
const connections = 10;

/** The statement that reads the page before a message, for one user. */
const text = pageStatement(true, true);

function values(): (string | number)[] {
  const [conversation, first] = randomCursor(shape);
  const noCachedVersion = '';
  const scope = [conversationId(conversation), app_id, `user-${conversation}`];
  return [messageId(conversation, first), noCachedVersion, ...scope, pageMessages + 1];
}

const pool = new pg.Pool({ connectionString, max: connections });

async function loop(end: number): Promise<number> {
  let statements = 0;
  while (performance.now() < end) {
    const { rows } = await pool.query({ name: 'page', text, values: values() });
    if (rows.length < pageMessages) throw new Error(`the statement found ${rows.length} messages`);
    statements += 1;
  }
  return statements;
}

serveHelper(async ({ loops, seconds }: { loops: number; seconds: number }) => {
  const start = performance.now();
  const done = await Promise.all(Array.from({ length: loops }, () => loop(start + seconds * 1000)));
  return { perSecond: done.reduce((sum, one) => sum + one, 0) / ((performance.now() - start) / 1000) };
});
