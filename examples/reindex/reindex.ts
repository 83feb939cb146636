import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
// In a project of your own: from 'backscroll-client'.
import { Backscroll, type ChangeOf, type ChangePageOf, CursorGone } from '../../client/src/index.ts';
import { embed } from './embeddings.ts';
import { settings } from './settings.ts';

/**
 * Keeps a table of vectors equal to the child chunks of a Backscroll service. All state is in the database: the effect of a
 * page of changes and its cursor are committed in one transaction, so the worker can be killed at any time.
 */

const retryMillisMin = 250;
const retryMillisMax = 30_000;
const queryMillisMax = 60_000;
const { databaseUrl, vectorType } = settings;
const backscroll = new Backscroll({ baseUrl: settings.backscrollUrl, key: settings.feedKey });

type Change = ChangeOf<'child_chunk'>;
type Progress = { cursor: string | null; pass: number };
type StoredChunk = { content: string; vector_id: string | null };

/** Since the last page that was processed. */
let failures = 0;
for (;;) {
  const db = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: queryMillisMax,
    query_timeout: queryMillisMax,
  });
  // The connection broke while no query was running. The next query fails.
  db.on('error', () => undefined);
  try {
    await db.connect();
    await createTables(db);
    await follow(db);
  } catch (error) {
    const { message, code, cause } = error as Error & { code?: string; cause?: Error };
    // One line: a stack says nothing about a service that is down.
    console.error([message || code, cause?.message].filter(Boolean).join(': '));
    failures += 1;
  }
  // Not awaited: the database may not respond.
  db.end().catch(() => undefined);
  if (failures > 0) await sleep(Math.min(retryMillisMin * 2 ** failures, retryMillisMax));
}

async function createTables(db: pg.Client): Promise<void> {
  // Each start checks the settings with a harmless text: else an invalid model would look like texts that are rejected.
  const [sample] = await embed(['sample']);
  if (!sample) throw new Error('the embeddings endpoint rejects every text: check EMBEDDINGS_MODEL');
  const { rows } = await db.query(`SELECT to_regclass('reindex_progress') IS NOT NULL AS "exists"`);
  if (rows[0].exists) return;
  const isVector = vectorType === 'vector';
  await db.query(`
    BEGIN;
    ${isVector ? 'CREATE EXTENSION IF NOT EXISTS vector;' : ''}
    CREATE TABLE reindex_vectors (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      embedding ${isVector ? `vector(${sample.length})` : 'real[]'} NOT NULL
    );
    CREATE TABLE reindex_chunks (
      dataset_id text,
      chunk_id text,
      content text NOT NULL,
      vector_id bigint UNIQUE REFERENCES reindex_vectors,
      pass integer NOT NULL,
      PRIMARY KEY (dataset_id, chunk_id)
    );
    CREATE INDEX ON reindex_chunks (pass);
    CREATE TABLE reindex_progress (cursor text, pass integer NOT NULL);
    INSERT INTO reindex_progress VALUES (NULL, 1);
    COMMIT`);
}

/** Follows the feed from the stored cursor. Returns if the cursor is gone; the feed is then read again from the start. */
async function follow(db: pg.Client): Promise<void> {
  const { rows } = await db.query<Progress>('SELECT cursor, pass FROM reindex_progress');
  const progress = rows[0] as Progress;
  try {
    const pages = backscroll.changePages({ after: progress.cursor ?? undefined, kinds: ['child_chunk'] });
    for await (const page of pages) {
      await apply(db, page, progress);
      progress.cursor = page.cursor;
      failures = 0;
    }
  } catch (error) {
    if (!(error instanceof CursorGone)) throw error;
    console.log('the cursor is gone: reading all chunks again');
    const next = { cursor: null, pass: progress.pass + 1 };
    await inTransaction(db, () => moveOn(db, progress, next));
  }
}

/** Embeds the texts that differ from the stored ones, then changes the index and the cursor in one transaction. */
async function apply(db: pg.Client, page: ChangePageOf<'child_chunk'>, progress: Progress): Promise<void> {
  // Each chunk once, with its last state.
  const changes = [...new Map(page.data.map((change) => [keyOf(change).join(), change])).values()];
  const stored = await readStored(db, changes);
  const edited = changes.filter((change) => !change.gone && textOf(change) !== stored.get(change)?.content);
  const embeddings = await embed(edited.map(textOf));
  const vectors = new Map(edited.map((change, at) => [change, embeddings[at]]));
  await inTransaction(db, async () => {
    await moveOn(db, progress, { cursor: page.cursor, pass: progress.pass });
    for (const change of changes) {
      const vector = vectors.get(change);
      if (change.gone) await remove(db, 'dataset_id = $1 AND chunk_id = $2', keyOf(change));
      else if (vector === undefined) await confirm(db, change, progress.pass);
      else await replace(db, change, vector, stored.get(change)?.vector_id, progress.pass);
    }
    // Everything was read: chunks that an earlier pass stored and this one did not see no longer exist.
    if (!page.has_more) await remove(db, 'pass < $1', [progress.pass]);
  });
  if (changes.length > 0) console.log(`${changes.length} chunks changed, ${edited.length} texts embedded`);
}

/** The first statement of each transaction. If another worker was faster, this one starts again at the stored cursor. */
async function moveOn(db: pg.Client, from: Progress, to: Progress): Promise<void> {
  const { rowCount } = await db.query(
    'UPDATE reindex_progress SET cursor = $1, pass = $2 WHERE cursor IS NOT DISTINCT FROM $3 AND pass = $4',
    [to.cursor, to.pass, from.cursor, from.pass],
  );
  if (rowCount !== 1) throw new Error('another worker has moved the cursor');
}

async function readStored(db: pg.Client, changes: readonly Change[]): Promise<Map<Change, StoredChunk>> {
  const keys = changes.map(keyOf);
  const { rows } = await db.query<StoredChunk & { at: string }>(
    `SELECT at, content, vector_id
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS requested (dataset_id, chunk_id, at)
     JOIN reindex_chunks USING (dataset_id, chunk_id)`,
    [keys.map(([dataset_id]) => dataset_id), keys.map(([, chunk_id]) => chunk_id)],
  );
  return new Map(rows.map(({ at, ...chunk }) => [changes[Number(at) - 1] as Change, chunk]));
}

/** Adds the new vector, swaps the chunk to it, removes the old one. A text that has no vector is stored without one. */
async function replace(
  db: pg.Client,
  change: Change,
  vector: number[] | null,
  oldId: string | null | undefined,
  pass: number,
): Promise<void> {
  const literal = vectorType === 'vector' ? JSON.stringify(vector) : vector;
  const add = 'INSERT INTO reindex_vectors (embedding) VALUES ($1) RETURNING id';
  const newId = vector === null ? null : (await db.query(add, [literal])).rows[0].id;
  if (newId === null) console.error(`the endpoint rejects the text of chunk ${change.id}: it is not in the index`);
  await db.query(
    `INSERT INTO reindex_chunks (dataset_id, chunk_id, content, vector_id, pass) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (dataset_id, chunk_id) DO UPDATE
     SET content = excluded.content, vector_id = excluded.vector_id, pass = excluded.pass`,
    [...keyOf(change), textOf(change), newId, pass],
  );
  await db.query('DELETE FROM reindex_vectors WHERE id = $1', [oldId]);
}

/** The text is the stored one: its vector stays. */
async function confirm(db: pg.Client, change: Change, pass: number): Promise<void> {
  const update = 'UPDATE reindex_chunks SET pass = $3 WHERE dataset_id = $1 AND chunk_id = $2';
  await db.query(update, [...keyOf(change), pass]);
}

async function remove(db: pg.Client, condition: string, values: readonly unknown[]): Promise<void> {
  await db.query(
    `WITH removed AS (DELETE FROM reindex_chunks WHERE ${condition} RETURNING vector_id)
     DELETE FROM reindex_vectors WHERE id IN (SELECT vector_id FROM removed)`,
    [...values],
  );
}

/** After a failure the connection is closed, which rolls back. */
async function inTransaction(db: pg.Client, work: () => Promise<void>): Promise<void> {
  await db.query('BEGIN');
  await work();
  await db.query('COMMIT');
}

function keyOf({ path, id }: Change): [dataset_id: string, chunk_id: string] {
  return [path.dataset_id ?? '', id];
}

function textOf({ record }: Change): string {
  return record?.content ?? '';
}
