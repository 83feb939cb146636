import { randomUUID } from 'node:crypto';
import { keysOf } from '../../contract/primitives.ts';
import { dayOf } from '../../domain/records/usage.ts';
import type { CitedTexts } from '../../domain/words/search-document.ts';
import { addInto, query, type Statement, type Write, writeRows } from '../base/statement.ts';

/**
 * How many answers of a day cite a segment, a document or a knowledge base, and how many of them were disliked. A row without a
 * segment counts the answers that cite the document, and so on: an answer counts once in each. The row without any counts all.
 *
 * Only the indexer adds to rows. An erasure writes rows of its own, with another `part`, so that it never waits for the indexer
 * nor the indexer for it; the next step of the indexer adds them to the others.
 */
export type CitationRow = Record<'dataset_id' | 'document_id' | 'segment_id', string> &
  Record<'day' | 'answers' | 'disliked', number>;

const keyTypes = { dataset_id: 'text', document_id: 'text', segment_id: 'text', day: 'bigint', part: 'text' } as const;
const sumTypes = { answers: 'bigint', disliked: 'bigint' } as const;
const addCitations = addInto('search_citations', { ...keyTypes, ...sumTypes }, keysOf(keyTypes), keysOf(sumTypes));

const takeParts: Statement<CitationRow> = `
  DELETE FROM search_citations WHERE part <> '' RETURNING dataset_id, document_id, segment_id, day, answers, disliked`;

export type CitedMessage = { created_at: number; cited: string | null };

export class CitationTally {
  readonly #rows = new Map<string, CitationRow>();

  /** `times` is -1 for what leaves the index. */
  add({ created_at, cited }: CitedMessage, times: 1 | -1): void {
    if (cited === null) return;
    const { disliked, places }: CitedTexts = JSON.parse(cited);
    const levels = places.flatMap(([dataset, document, segment]) => [
      [dataset, '', ''],
      [dataset, document, ''],
      [dataset, document, segment],
    ]);
    const day = dayOf(created_at);
    const seen = new Map([['', '', ''], ...levels].map((ids) => [JSON.stringify(ids), ids]));
    for (const [dataset_id = '', document_id = '', segment_id = ''] of seen.values())
      this.#add({ dataset_id, document_id, segment_id, day, answers: times, disliked: times * disliked });
  }

  #add({ answers, disliked, ...ids }: CitationRow): void {
    const key = JSON.stringify(Object.values(ids));
    const row = this.#rows.get(key) ?? { ...ids, answers: 0, disliked: 0 };
    this.#rows.set(key, { ...row, answers: row.answers + answers, disliked: row.disliked + disliked });
  }

  /** With what erasures have taken away. */
  *writeAll(): Write<void> {
    for (const row of yield* query(takeParts)) this.#add(row);
    yield* this.#write('');
  }

  /** Apart from the others. */
  *writePart(): Write<void> {
    yield* this.#write(randomUUID());
  }

  *#write(part: string): Write<void> {
    const changed = [...this.#rows.values()].filter(({ answers, disliked }) => answers !== 0 || disliked !== 0);
    yield* writeRows(
      addCitations,
      changed.map(({ dataset_id, document_id, segment_id, day, answers, disliked }) => [
        ...[dataset_id, document_id, segment_id, day, part, answers, disliked],
      ]),
    );
    this.#rows.clear();
  }
}
