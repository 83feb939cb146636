import type { Reader, SearchTable } from '../base/engine.ts';
import type { Statement } from '../base/statement.ts';

/**
 * The words of the search index that begin with a text, read from the tables of FTS5 themselves: its own list of words
 * (`fts5vocab`) reads all rows of a frequent word to find the word after it. The format is described at the beginning of FTS5's
 * source file `fts5_index.c`, and files of older versions of SQLite remain readable.
 */

/**
 * How many pages are read at first, and at most. The first ones are enough for a beginning of few words, or of very many. Beyond the
 * last, the words may be few, but each has a page of its own in each segment: then they count as too many.
 */
const pageCounts = [100, 2_000];

/** FTS5 puts this character before each word. */
const mark = '0';
/** Sorts after all bytes of a word. */
const afterAll = Buffer.of(0xff);

/**
 * In each segment of the index, the page where a beginning would be, and the pages that start with a word that has it.
 * Parameters: the first word twice, the end, a count.
 */
const findPages = (table: string): Statement<{ block: Uint8Array }> => `
  WITH RECURSIVE segments (segid) AS (
    SELECT MIN(segid) FROM ${table}_idx
    UNION ALL
    SELECT (SELECT MIN(segid) FROM ${table}_idx WHERE segid > segments.segid) FROM segments WHERE segid IS NOT NULL
  ), pages (segid, pgno) AS (
    SELECT segid, (SELECT i.pgno FROM ${table}_idx i WHERE i.segid = s.segid AND i.term <= ? ORDER BY i.term DESC LIMIT 1)
    FROM segments s
    UNION ALL
    SELECT i.segid, i.pgno FROM segments s CROSS JOIN ${table}_idx i WHERE i.segid = s.segid AND i.term > ? AND i.term < ?
  )
  SELECT d.block FROM pages p CROSS JOIN ${table}_data d WHERE d.id = (p.segid << 37) + (p.pgno >> 1) LIMIT ?`;

const statements: Record<SearchTable, Statement<{ block: Uint8Array }>> = {
  search_messages: findPages('search_message_tokens'),
  search_chunks: findPages('search_chunk_tokens'),
};

/** Undefined if there are more than `max` words. The rows of some may have been removed: such words find nothing. */
export async function wordsWith(
  read: Reader,
  table: SearchTable,
  start: string,
  max: number,
): Promise<string[] | undefined> {
  const from = Buffer.from(mark + start);
  const end = Buffer.concat([from, afterAll]);
  for (const count of pageCounts) {
    const pages = await read(statements[table], from, from, end, count);
    const words = new Set<string>();
    for (const { block } of pages) {
      for (const word of wordsIn(Buffer.from(block.buffer, block.byteOffset, block.length))) {
        if (word.compare(from) < 0) continue;
        if (word.compare(end) > 0) break;
        words.add(word.toString('utf8', mark.length));
      }
      if (words.size > max) return undefined;
    }
    if (pages.length < count) return [...words];
  }
  return undefined;
}

/**
 * The words that start on a page, in order. Its bytes 2 and 3 say where its footer begins, which has the distances between the
 * words. Each word but the first begins with the number of bytes that it shares with the word before it.
 */
function* wordsIn(page: Buffer): Generator<Buffer> {
  let word = Buffer.alloc(0);
  let wordAt = 0;
  for (let footerAt = page.readUInt16BE(2); footerAt < page.length; ) {
    const distance = readVarint(page, footerAt);
    const isFirst = wordAt === 0;
    footerAt = distance.end;
    wordAt += distance.value;
    const shared = isFirst ? { value: 0, end: wordAt } : readVarint(page, wordAt);
    const added = readVarint(page, shared.end);
    word = Buffer.concat([word.subarray(0, shared.value), page.subarray(added.end, added.end + added.value)]);
    yield word;
  }
}

/** SQLite's integers of variable length: seven bits in each byte, the highest first. */
function readVarint(bytes: Buffer, at: number): { value: number; end: number } {
  let value = 0;
  for (let end = at; ; ) {
    const byte = bytes[end++] ?? 0;
    value = value * 128 + (byte & 127);
    if (byte < 128) return { value, end };
  }
}
