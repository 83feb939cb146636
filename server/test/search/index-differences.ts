import { execute } from '../../../experiments/support/schema-databases.ts';
import type { Engine } from '../support/harness.ts';

const values = 's.created_at, s.cost, s.latency, s.waits_until';
/** How many answers cite a text. */
const citations = (text: string) => `
  SELECT 'cited ' || dataset_id || ' ' || document_id || ' ' || segment_id || ' ' || day, NULL, NULL, NULL, NULL,
    ${text} FROM search_citations GROUP BY dataset_id, document_id, segment_id, day HAVING SUM(answers) <> 0`;
/** A record with its tokens, and tokens at positions without a record. */
const statements: Record<Engine, readonly string[]> = {
  sqlite: [
    'CREATE VIRTUAL TABLE temp.message_tokens USING fts5vocab(main, search_message_tokens, instance)',
    'CREATE VIRTUAL TABLE temp.chunk_tokens USING fts5vocab(main, search_chunk_tokens, instance)',
    `SELECT * FROM (
       SELECT 'message ' || COALESCE(s.conversation_id || ' ' || s.id, 'none') AS record, ${values}, t.tokens
       FROM (SELECT doc, group_concat(term, ' ' ORDER BY term) AS tokens FROM message_tokens GROUP BY doc) t
       FULL JOIN search_messages s ON s.position = t.doc
       UNION ALL
       SELECT COALESCE(s.kind || ' ' || s.dataset_id || ' ' || s.id, 'chunk none'), NULL, NULL, NULL, NULL, t.tokens
       FROM (SELECT doc, group_concat(term, ' ' ORDER BY term) AS tokens FROM chunk_tokens GROUP BY doc) t
       FULL JOIN search_chunks s ON s.position = t.doc)
     UNION ALL ${citations(`SUM(answers) || ' ' || SUM(disliked)`)}`,
  ],
  postgres: [
    `SELECT 'message ' || s.conversation_id || ' ' || s.id AS record, ${values}, s.tokens::text FROM search_messages s
     UNION ALL
     SELECT s.kind || ' ' || s.dataset_id || ' ' || s.id, NULL, NULL, NULL, NULL, s.tokens::text FROM search_chunks s
     UNION ALL ${citations(`SUM(answers) || ' ' || SUM(disliked)`)}`,
  ],
};

async function readIndex(engine: Engine, url: string): Promise<string[]> {
  const database = { engine, url, remove: async () => undefined };
  const rows = await execute(
    database,
    statements[engine].map((text) => ({ text })),
  );
  return rows.map((row) => Object.values(row).map(String).join(' | ')).sort();
}

/**
 * The rows in which the index differs from one that `reindex` builds from all records. Nothing may write meanwhile, and everything
 * must be indexed.
 */
export async function indexDifferences(
  engine: Engine,
  url: string,
  reindex: () => Promise<unknown>,
): Promise<string[]> {
  const stored = await readIndex(engine, url);
  await reindex();
  const built = await readIndex(engine, url);
  const [inStored, inBuilt] = [new Set(stored), new Set(built)];
  return [
    ...stored.filter((row) => !inBuilt.has(row)).map((row) => `- ${row}`),
    ...built.filter((row) => !inStored.has(row)).map((row) => `+ ${row}`),
  ];
}
