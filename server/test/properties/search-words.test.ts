import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import fc from 'fast-check';
import type { SearchTable } from '../../src/store/base/engine.ts';
import { createSearchTables } from '../../src/store/schema/create-search-tables.ts';
import { createWordLists, wordsWith } from '../../src/store/sqlite/statements.ts';
import { shortOrLong } from '../support/long.ts';

type Row = { position: number; tokens: string };

/** Words that share beginnings, of one to four bytes for each character. */
const wordOf = fc.oneof(
  fc.stringMatching(/^[ab1]{1,6}$/),
  fc.constantFrom('a', 'ab', 'é', 'éa', '猫', '猫犬', '🙂', '🙂a', '\u{e000}p40', `x${'y'.repeat(300)}`),
);
/** In so many rows that its list of rows fills several pages. */
const frequent = ['a', 'aba', '猫'];
const rowsOfFrequent = 3_000;

function createIndex(batches: readonly (readonly string[])[], hasFrequent: boolean): { db: DatabaseSync; rows: Row[] } {
  const db = new DatabaseSync(':memory:');
  for (const statement of createSearchTables.sqlite) db.exec(statement);
  db.exec(createWordLists);
  // Batches stay segments of their own until there are many of them.
  const insert = db.prepare('INSERT INTO search_message_tokens (rowid, tokens) VALUES (?, ?)');
  const rows: Row[] = [];
  for (const batch of [...(hasFrequent ? [Array(rowsOfFrequent).fill(frequent.join(' '))] : []), ...batches]) {
    db.exec('BEGIN');
    for (const tokens of batch) {
      // Positions are far apart, as times are.
      rows.push({ position: rows.length * 1_000_003, tokens });
      insert.run(rows.at(-1)?.position ?? 0, tokens);
    }
    db.exec('COMMIT');
  }
  return { db, rows };
}

it('words with a beginning: all that rows of the index have, and no others, except some whose rows were removed', () => {
  const tokens = fc.array(wordOf, { minLength: 1, maxLength: 12 }).map((words) => words.join(' '));
  const batches = fc.array(fc.array(tokens, { minLength: 1, maxLength: 40 }), { minLength: 1, maxLength: 6 });
  const starts = fc.array(fc.oneof(wordOf, fc.constantFrom('b', 'z', 'x', '1a')), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(batches, fc.boolean(), starts, fc.integer({ min: 1, max: 5 }), (texts, some, asked, nth) => {
      const { db, rows } = createIndex(texts, some);
      const remove = db.prepare(
        `INSERT INTO search_message_tokens (search_message_tokens, rowid, tokens) VALUES ('delete', ?, ?)`,
      );
      const [kept, removed] = [rows.filter((_, at) => at % nth !== 1), rows.filter((_, at) => at % nth === 1)];
      for (const { position, tokens } of removed) remove.run(position, tokens);
      const wordsOf = (list: readonly Row[]) => new Set(list.flatMap((row) => row.tokens.split(' ')));
      const [present, all] = [wordsOf(kept), wordsOf(rows)];
      const words = (table: SearchTable, start: string, max: number) =>
        (db.prepare(wordsWith[table]).all(start, max) as { term: string }[]).map(({ term }) => term);
      for (const start of asked) {
        const withStart = (words: ReadonlySet<string>) => [...words].filter((word) => word.startsWith(start));
        const found = new Set(words('search_messages', start, all.size));
        const missing = withStart(present).filter((word) => !found.has(word));
        const others = [...found].filter((word) => !withStart(all).includes(word));
        assert.deepEqual([missing, others], [[], []], start);
        const [first] = withStart(present);
        if (first !== undefined) assert.equal(words('search_messages', start, 1).length, 1);
        assert.deepEqual(words('search_chunks', start, 1), [], 'of an empty index');
      }
      db.close();
    }),
    { numRuns: shortOrLong(20, 500) },
  );
});
