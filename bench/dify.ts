import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { readConfig } from '../server/src/config.ts';
import { importFromDify } from '../server/src/dify/run.ts';
import { databaseOf } from '../server/src/store/open.ts';
import { difyRows, difyTables, ids } from '../server/test/support/dify-database.ts';
import { removeDatabase, run } from './goals/imports.ts';
import { endAll, script, startServer } from './support/servers.ts';

/**
 * Imports from a generated Dify, compared with an import of the same records from a file, in one run: rates and peak memory.
 * Then it follows the source and counts what a poll reads there. `node bench/dify.ts [MESSAGES] [BYTES]`
 */

const [messages = 50_000, bytes = 2_900] = process.argv.slice(2).map(Number);
const messagesEach = 20;
const polls = 10;
/** Statements of `readCounters`, which are counted too. */
const countingStatements = 2;
const folder = await mkdtemp(join(tmpdir(), 'backscroll-bench-'));

/** Runs the command in a new process, which prints its seconds and its peak memory in megabytes. */
async function measure(args: readonly string[], env: NodeJS.ProcessEnv): Promise<{ seconds: number; peak: number }> {
  const main = new URL('../server/src/cli/main.ts', import.meta.url).href;
  const program = `
    import { main } from ${JSON.stringify(main)};
    const start = performance.now();
    const code = await main(${JSON.stringify(args)});
    if (code !== 0) throw new Error('exit code ' + code);
    console.log('measured ' + (performance.now() - start) / 1000 + ' ' + process.resourceUsage().maxRSS / 1024);`;
  const file = join(folder, 'measure.mjs');
  await writeFile(file, program);
  const { stdout } = await run([file], env);
  const [, seconds, peak] = /^measured (\S+) (\S+)$/m.exec(stdout) ?? [];
  if (seconds === undefined) throw new Error(stdout);
  return { seconds: Number(seconds), peak: Number(peak) };
}

async function fill(client: pg.Client): Promise<void> {
  await client.query(difyTables);
  await client.query(difyRows);
  await client.query(`
    DELETE FROM api_tokens WHERE type = 'app' AND app_id <> '${ids.app}';
    CREATE INDEX conversation_app_updated_at_idx ON conversations (app_id, updated_at DESC) WHERE is_deleted IS false;
    CREATE INDEX conversation_is_deleted_updated_at_idx ON conversations (is_deleted, updated_at) WHERE is_deleted IS true;
    INSERT INTO conversations (id, app_id, from_end_user_id, name, created_at, updated_at)
    SELECT gen_random_uuid(), '${ids.app}', '${ids.user}', 'conversation ' || n, to_timestamp(1700000000 + n * 60),
      to_timestamp(1700000000 + n * 60) FROM generate_series(1, ${Math.ceil(messages / messagesEach)}) n;
    INSERT INTO messages (id, app_id, conversation_id, inputs, query, answer, message_tokens, answer_tokens, total_price,
      message_metadata, created_at)
    SELECT gen_random_uuid(), '${ids.app}', c.id, '{"city": "Oslo"}', 'question ' || n,
      left(repeat(md5(c.id::text || n) || ' ', ${Math.ceil(bytes / 33)}), ${bytes}), 100, 200, 0.0000210,
      '{"usage": {"total_tokens": 300}}', c.created_at + interval '1 second' * n
    FROM conversations c, generate_series(1, ${messagesEach}) n WHERE c.name LIKE 'conversation %';
    INSERT INTO message_feedbacks (message_id, rating, from_source, created_at, updated_at)
    SELECT id, 'like', 'user', created_at, created_at FROM messages WHERE id::text < '2'`);
  await client.query('VACUUM ANALYZE');
}

/** Rows that PostgreSQL has read from the tables of the source, and transactions. */
async function readCounters(client: pg.Client): Promise<{ rows: number; transactions: number }> {
  await client.query('SELECT pg_stat_force_next_flush()');
  const { rows } = await client.query(
    `SELECT (SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables)::float8 AS rows,
       (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())::float8 AS transactions`,
  );
  return rows[0];
}

/** The average of some polls: one with everything that is read once a minute, and others. */
async function measurePolls(url: string, database: string, client: pg.Client): Promise<void> {
  const store = await databaseOf(readConfig({ DATABASE_URL: database })).open();
  const stop = new AbortController();
  let count = 0;
  const marks: { rows: number; transactions: number }[] = [];
  const marked: Promise<void>[] = [];
  const mark = async () => void marks.push(await readCounters(client));
  const options = {
    ...{ console: false, archived: false, allDocuments: false, filesBase: undefined, keys: true },
    ...{ workspaceIds: undefined, appIds: undefined, since: undefined },
  };
  await importFromDify(
    url,
    store,
    options,
    { isDry: false, isForced: false, isOwner: false, models: undefined, clock: Date.now, follow: 2 },
    { skip: () => undefined, count: () => undefined },
    {
      begin: () => undefined,
      progress: () => undefined,
      difference: () => undefined,
      warning: () => undefined,
      elsewhere: () => undefined,
      unavailable: () => undefined,
      // A second after a poll, PostgreSQL has counted it.
      complete: () => undefined,
      lag: () => {
        count += 1;
        marked.push(new Promise((resolve) => setTimeout(() => mark().then(resolve), 1_500)));
        if (count === polls + 3) stop.abort();
      },
    },
    stop.signal,
  );
  await Promise.all(marked);
  await store.close();
  // The first poll also reads what is read once a minute.
  const [first, last] = [marks[1], marks[polls + 1]];
  if (first === undefined || last === undefined) throw new Error('too few polls');
  const each = (name: 'rows' | 'transactions') => (last[name] - first[name]) / polls;
  console.log(
    `a poll without changes: ${each('transactions') - countingStatements} statements, ${each('rows')} rows read`,
  );
}

await chmod(folder, 0o755);
try {
  const [port, password] = [20_000 + Math.floor(Math.random() * 10_000), 'bench'];
  await startServer(folder, [script('support/postgres-server.ts'), join(folder, 'postgres'), `${port}`, password]);
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
  const client = new pg.Client(url);
  client.on('error', () => undefined);
  await client.connect();
  console.log(`filling a Dify installation with ${messages} messages of ${bytes} bytes`);
  await fill(client);
  const [imported, copied, file] = ['imported.db', 'copied.db', 'records.ndjson'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const database = `sqlite:${imported}`;
  const fromDify = await measure(['import', '--from-dify'], { DATABASE_URL: database, DIFY_DATABASE_URL: url });
  await measure(['export', file], { DATABASE_URL: database });
  const fromFile = await measure(['import', file], { DATABASE_URL: `sqlite:${copied}` });
  const again = await measure(['import', '--from-dify'], { DATABASE_URL: database, DIFY_DATABASE_URL: url });
  const show = (name: string, { seconds, peak }: typeof fromDify) =>
    console.log(
      `${name}: ${seconds.toFixed(1)} s, ${Math.round(messages / seconds)} messages/s, peak ${peak.toFixed(0)} MB`,
    );
  show('from Dify', fromDify);
  show('from a file', fromFile);
  show('from Dify again, without changes', again);
  console.log(`ratio of the rates: ${(fromFile.seconds / fromDify.seconds).toFixed(2)}`);
  await measurePolls(url, database, client);
  await client.end();
  await removeDatabase(imported);
} finally {
  await endAll();
  await rm(folder, { recursive: true, force: true });
}
