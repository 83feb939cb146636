import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, it } from 'node:test';
import pg from 'pg';
import { type SentStatement, summarize } from '../store/recording-proxy.ts';
import { newFolder, newScope, repository, run, sendRequest, serve } from '../support/cli-helpers.ts';
import { type Engine, ndjson, newMigratedUrl, onEveryEngine } from '../support/harness.ts';
import { exampleRecords, sendExamples } from '../support/openapi/record-examples.ts';
import { describePlan, explain, rowsRead } from '../support/plans.ts';
import { until } from '../support/until.ts';
import { filledTables } from './filled-tables.ts';
import { erasedUser, imports, lists, moreRecords, reads } from './requests.ts';
import { recordStatements } from './sent-statements.ts';
import { shardMark, wrongMark } from './shard-marks.ts';

/**
 * The plans of all statements that the recorded examples and the requests beside them send. Those of SQLite, which plans without
 * looking at the rows, are compared with a reviewed file: look at a new one, and if it is good, write it into the file with
 * `TEST_WRITE_PLANS=1 npm test -- test/plans`. On PostgreSQL they are executed on filled tables, and the rows that they read counted.
 */

const planFile = new URL('./plans.sqlite.txt', import.meta.url);
/** A page, a batch of an export, or all of the starter records. */
const rowsMax = 1_500;
/** An installation has few of these. */
const smallTables = ['workspaces', 'apps', 'datasets', 'api_keys', 'persons', 'console_sessions'];
/** Counting and trimming the audit log, a search for an id in all of it, and counting the labels of open reviews, which are few. */
const readsAll =
  /OFFSET 19999|^UPDATE audit_reads|audit_entries WHERE (?:ids LIKE|.*IN \()|FROM \(SELECT m.id FROM messages m CROSS JOIN/;

/** Each statement that has a plan, once. */
const planned = (statements: readonly SentStatement[]): SentStatement[] =>
  [...new Map(statements.map((one) => [one.text, one])).values()].filter(({ text }) =>
    /^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH|DECLARE)\b/.test(text),
  );

/** Sends everything, and stops. Returns what was sent. */
async function sendAll(engine: Engine, url: string, scope: ReturnType<typeof newScope>): Promise<SentStatement[]> {
  const cwd = await newFolder(scope);
  const recording = await recordStatements(engine, url, cwd);
  scope.after(recording.close);
  const { records, secrets } = exampleRecords();
  const file = join(cwd, 'records.ndjson');
  await writeFile(file, ndjson([...records, ...moreRecords]));
  const { env } = recording;
  for (const args of [['migrate'], ['import', file]]) {
    const { code, stderr } = await run(args, { cwd, env });
    assert.equal(code, 0, stderr);
  }
  // Reads are noted, so that they are listed, too.
  const service = await serve(scope, { cwd, env: { ...env, AUDIT_READS: 'all' } });
  const send = async (path: string, key: string, parts: Parameters<typeof sendRequest>[3] = {}) => {
    const response = await sendRequest(service.base, path, key, parts);
    assert.ok(response.status < 300, `${parts.method ?? 'GET'} ${path}: ${response.status} ${response.text}`);
    return response;
  };
  const { admin } = secrets;
  await until(async () => (await send('/admin/search?q=machine', admin)).body.data.length > 0);
  await until(async () => (await send('/admin/users?limit=1', admin)).body.has_more);
  for (const [kind, paths] of Object.entries(lists) as [keyof typeof secrets, string[]][])
    for (const path of paths) {
      const first = `${path}${path.endsWith('?') ? '' : '&'}limit=1`;
      const { body } = await send(first, secrets[kind]);
      const last = body.data.at(-1)?.id;
      const next = body.next_cursor
        ? `cursor=${encodeURIComponent(body.next_cursor)}`
        : path.includes('/datasets')
          ? 'page=2'
          : path.startsWith('/openai')
            ? `after=${last}`
            : `${path.includes('/messages') ? 'first_id' : 'last_id'}=${last}`;
      if (body.has_more || body.next_cursor) await send(`${first}&${next}`, secrets[kind]);
    }
  for (const [kind, paths] of Object.entries(reads) as [keyof typeof secrets, string[]][])
    for (const path of paths) await send(path, secrets[kind]);
  const post = (path: string, parts: object) => send(path, admin, { method: 'POST', ...parts });
  for (const some of [...imports, records.filter((one) => !('secret' in one)).map(changed)])
    await post('/admin/records', { lines: ndjson(some) });
  const document = JSON.parse(readFileSync(join(repository, 'openapi.json'), 'utf8'));
  await sendExamples({ base: service.base, advanceClock: () => undefined }, secrets, document);
  for (const dry_run of [true, false]) await post('/admin/purge', { json: { ...erasedUser, dry_run } });
  await service.end('SIGTERM');
  return recording.statements();
}

/** With another text, so that an import writes it and its revision. */
const changed = (record: object): object =>
  'content' in record ? { ...record, content: `${record.content} Changed.` } : record;

onEveryEngine('plans of all statements', (engine) => {
  const scope = newScope();
  let url: string;
  let statements: SentStatement[];
  before(async () => {
    const database = await newMigratedUrl(engine);
    scope.after(database.remove);
    url = database.url;
    statements = await sendAll(engine, url, scope);
  });
  after(() => scope.end());

  if (engine === 'sqlite') {
    it('of an edit are in one transaction on the writer thread', () => {
      const transactions = [...Map.groupBy(statements, ({ name }) => name).values()].flatMap((ofThread) =>
        ofThread
          .map(({ text }) => text)
          .join('\0')
          .split(/(?<=\0COMMIT)\0/)
          .map((transaction) => transaction.split('\0')),
      );
      const edit = transactions.find((texts) => texts.some((text) => text.includes('UPDATE child_chunks'))) ?? [];
      assert.deepEqual(
        edit.slice(edit.indexOf('BEGIN IMMEDIATE')).map((text) => summarize(text).trim()),
        [
          ...['BEGIN', 'SELECT datasets documents segments child_chunks', 'UPDATE child_chunks'],
          ...['SELECT child_chunk_revisions', 'INSERT child_chunk_revisions'],
          ...['INSERT audit_entries', 'INSERT change_outbox', 'COMMIT'],
        ],
      );
      // A statement that needs a temporary table is one for many rows: SQLite copies each page that it changes into a file.
      const db = new DatabaseSync(url.replace('sqlite:', ''));
      for (const text of edit.filter((one) => /^\s*(INSERT|UPDATE|DELETE)/.test(one))) {
        const steps = db.prepare(`EXPLAIN ${text}`).all();
        assert.ok(!steps.some(({ opcode }) => opcode === 'OpenEphemeral'), text);
      }
      db.close();
    });

    it('are the reviewed ones', () => {
      const db = new DatabaseSync(url.replace('sqlite:', ''));
      const temporary = statements.filter(({ text }) => /^\s*CREATE VIRTUAL TABLE .*fts5vocab/.test(text));
      for (const text of new Set(temporary.map((one) => one.text))) db.exec(text);
      const planOf = (text: string) =>
        db
          .prepare(`EXPLAIN QUERY PLAN ${text}`)
          .all()
          .map(({ detail }) => detail);
      const all = planned(statements).map(({ text }) => `${summarize(text)}: ${planOf(text).join(' / ')}`.trim());
      db.close();
      // Others read no table, or look rows up by their primary key.
      const plans = [...new Set(all)].filter((plan) => /\b(?:SCAN|INDEX|TEMP B-TREE)\b/.test(plan)).sort();
      const reviewed = readFileSync(planFile, 'utf8').trimEnd().split('\n');
      const added = plans.filter((plan) => !reviewed.includes(plan));
      if (process.env.TEST_WRITE_PLANS) writeFileSync(planFile, `${[...reviewed, ...added].sort().join('\n')}\n`);
      assert.deepEqual(added, [], 'plans that are not reviewed');
      // What background jobs send depends on the time.
      const missing = reviewed.filter((plan) => !plans.includes(plan));
      assert.ok(missing.length < reviewed.length / 20, `plans of no statement:\n${missing.join('\n')}`);
    });
  } else {
    it('mark the parameter with the distribution value, if they have one', () => {
      const texts = planned(statements).map(({ text }) => text);
      const wrong = texts.flatMap((text) => wrongMark(text)?.concat(': ', text) ?? []);
      assert.deepEqual(wrong, []);
      const marked = texts.filter((text) => text.includes(shardMark));
      assert.ok(marked.length > 120, `${marked.length}`);
      for (const text of marked) assert.ok(wrongMark(text.replaceAll(shardMark, '')), text);
    });

    it('read few rows of large tables, with the values that were sent', async (t) => {
      const client = new pg.Client(url);
      await client.connect();
      t.after(() => client.end());
      for (const statement of filledTables) await client.query(statement);
      await client.query('VACUUM ANALYZE');
      const many: string[] = [];
      const explained = planned(statements).filter(
        ({ text }) => !/^\s*(?:INSERT|DECLARE)/.test(text) && !readsAll.test(text),
      );
      assert.ok(explained.length > 200);
      for (const { text, values } of explained) {
        const plan = await explain(client, text, values);
        const rows = rowsRead(plan, (step) => !smallTables.includes(step['Relation Name'] ?? ''));
        if (rows > rowsMax) many.push(`${text}: ${rows} rows: ${describePlan(plan)}`);
      }
      assert.deepEqual(many, []);
    });
  }
});
