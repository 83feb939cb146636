import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { difyRows, difyTables, ids } from '../../server/test/support/dify-database.ts';
import { chat, importLines } from '../support/data.ts';
import { shape } from '../support/databases.ts';
import { freePort } from '../support/free-port.ts';
import { type Bench, group, type Measured } from '../support/goal.ts';
import { withClients } from '../support/load.ts';
import { compare, comparisonOf, interleave, median } from '../support/pairs.ts';
import { fullOr } from '../support/quick.ts';
import { connections, latencyOf, randomPages, rateOf, roundSeconds, warmSeconds } from '../support/reads.ts';
import { command, type Helper, script, startHelper, startOurs, startServer } from '../support/servers.ts';
import { run } from './imports.ts';

/** A page of 20 messages in Dify 1.16.1: 6N + 5 SELECTs and N + 1 COMMITs. */
const difyRoundTrips = 125 + 21;
const pagesPerRound = fullOr(50, 5);
const difyMessages = fullOr(50_000, 400);
const importRounds = fullOr(3, 1);

export const postgres = group({
  goals: {
    page: {
      what: 'uncached pages on PostgreSQL',
      against: 'a bare loop of the same statement by the same driver, which decodes the texts',
      why: 'the database uses both cores in the bare loop, too; HTTP and the clients get half of them',
      target: { min: 0.5 },
    },
    dify: {
      what: 'an uncached page on PostgreSQL, one request at a time',
      against: 'Dify 1.16.1: only its 146 round trips, with empty statements',
      why: 'what a page of Dify takes at least; its own code and the rows come on top',
    },
    import: {
      what: '`backscroll import --from-dify` of 50,000 messages',
      against: '`backscroll import` of the same records from a file',
      why: 'reading another system’s tables should not be the longest part of a move',
    },
  },
  measure,
});

async function measure(bench: Bench) {
  const url = await startPostgres(bench);
  await importLines(url, chat(shape), { SEARCH: 'off' });
  const ours = await startOurs(bench.folder, url, { SEARCH: 'off' });
  const next = randomPages(shape);
  bench.log('pages on PostgreSQL');
  const driver = startHelper('bare/bare-driver.ts', url);
  await rateOf(ours, next, warmSeconds);
  await statementRate(driver);
  const page = await compare(
    async () => (await rateOf(ours, next)).perSecond,
    () => statementRate(driver),
  );
  await driver.stop();
  const dify = await measureDifyPage(url, ours.port, next);
  await ours.stop();
  bench.log('imports from Dify');
  return { page: { ...page, unit: 'pages/s' }, dify, import: await measureDifyImport(bench, url) };
}

async function startPostgres({ folder }: Bench): Promise<string> {
  const [port, password] = [await freePort(), randomBytes(12).toString('hex')];
  await startServer(folder, [script('support/postgres-server.ts'), join(folder, 'postgres'), `${port}`, password]);
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
}

async function statementRate(driver: Helper): Promise<number> {
  return (await driver.request<{ perSecond: number }>({ loops: connections, seconds: roundSeconds })).perSecond;
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function measureDifyPage(url: string, port: number, next: () => string): Promise<Measured> {
  const database = await connect(url);
  const theirs = async () => {
    const micros: number[] = [];
    for (let page = 0; page < pagesPerRound; page += 1) {
      const start = performance.now();
      for (let trip = 0; trip < difyRoundTrips; trip += 1) await database.query('SELECT 1');
      micros.push((performance.now() - start) * 1000);
    }
    return median(micros);
  };
  const comparison = await withClients(port, 1, ([client]) => {
    const ours = async () =>
      client === undefined ? Number.NaN : median(await latencyOf(client, Array.from({ length: pagesPerRound }, next)));
    return compare(ours, theirs);
  });
  await database.end();
  return { ...comparison, unit: 'µs' };
}

/** Each import fills a new database. */
async function measureDifyImport({ folder }: Bench, url: string): Promise<Measured> {
  const admin = await connect(url);
  await admin.query('CREATE DATABASE dify');
  await admin.end();
  const source = url.replace(/postgres$/, 'dify');
  await fillDify(source);
  let count = 0;
  const newDatabase = () => `sqlite:${join(folder, `from-dify-${(count += 1)}.db`)}`;
  const seconds = async (args: string[], env: NodeJS.ProcessEnv) => {
    const start = performance.now();
    await run([command, ...args], env);
    return (performance.now() - start) / 1000;
  };
  const records = join(folder, 'from-dify.ndjson');
  const fromDify = (database = newDatabase()) =>
    seconds(['import', '--from-dify'], { DATABASE_URL: database, DIFY_DATABASE_URL: source });
  const first = newDatabase();
  await fromDify(first);
  await run([command, 'export', records], { DATABASE_URL: first });
  const fromFile = () => seconds(['import', records], { DATABASE_URL: newDatabase() });
  const [ours = [], theirs = []] = await interleave([fromDify, fromFile], importRounds);
  const rate = (list: number[]) => list.map((one) => difyMessages / one);
  return { ...comparisonOf(rate(ours), rate(theirs)), unit: 'messages/s' };
}

async function fillDify(source: string): Promise<void> {
  const client = await connect(source);
  const each = 20;
  await client.query(difyTables);
  await client.query(difyRows);
  await client.query(`
    DELETE FROM api_tokens WHERE type = 'app' AND app_id <> '${ids.app}';
    INSERT INTO conversations (id, app_id, from_end_user_id, name, created_at, updated_at)
    SELECT gen_random_uuid(), '${ids.app}', '${ids.user}', 'conversation ' || n, to_timestamp(1700000000 + n * 60),
      to_timestamp(1700000000 + n * 60) FROM generate_series(1, ${difyMessages / each}) n;
    INSERT INTO messages (id, app_id, conversation_id, inputs, query, answer, message_tokens, answer_tokens, total_price,
      message_metadata, created_at)
    SELECT gen_random_uuid(), '${ids.app}', c.id, '{"city": "Oslo"}', 'question ' || n,
      left(repeat(md5(c.id::text || n) || ' ', 88), 2900), 100, 200, 0.0000210, '{"usage": {"total_tokens": 300}}',
      c.created_at + interval '1 second' * n
    FROM conversations c, generate_series(1, ${each}) n WHERE c.name LIKE 'conversation %'`);
  await client.query('VACUUM ANALYZE');
  await client.end();
}
