import { limits } from '../../contract/limits.ts';
import { hashOf } from '../../domain/text-key.ts';
import type { Engine, SearchTable } from '../base/engine.ts';
import type { Statement } from '../base/statement.ts';

type Token = { term: string; doc: number };

/** The number and the sum of the hashes of tokens: equal for equal sets. */
export type Digest = { count: number; sum: number };

export function digestOf(tokens: ReadonlySet<string>): Digest {
  let sum = 0;
  for (const token of tokens) sum = (sum + hashOf(token)) >>> 0;
  return { count: tokens.size, sum };
}

/** Entries whose expected tokens are known, for an engine that only lists all tokens of all entries. In 16 bytes each. */
export class EntrySlice {
  readonly #start: number;
  readonly #positions: Float64Array;
  readonly #counts: Int32Array;
  readonly #sums: Uint32Array;
  #length = 0;

  constructor(start: number, max: number) {
    this.#start = start;
    this.#positions = new Float64Array(max);
    this.#counts = new Int32Array(max);
    this.#sums = new Uint32Array(max);
  }

  get isFull(): boolean {
    return this.#length === this.#positions.length;
  }

  /** Positions grow. */
  add(position: number, { count, sum }: Digest): void {
    this.#positions[this.#length] = position;
    this.#counts[this.#length] = count;
    this.#sums[this.#length] = sum;
    this.#length += 1;
  }

  /** Subtracts the stored tokens, in ranges of tokens, so that no snapshot is open for long. Returns the number of words without an entry. */
  async subtractStored(engine: Engine, table: SearchTable, list: string, end: number): Promise<number> {
    let strayWords = 0;
    const findEnd: Statement<{ term: string }> =
      `SELECT term FROM ${list} WHERE term >= ? LIMIT 1 OFFSET ${limits.indexCheckTokens}`;
    for (let from: string | undefined = ''; from !== undefined; ) {
      const rows: { term: string }[] = await engine.read(findEnd, from);
      const found = rows[0]?.term;
      // A token that more entries have is read alone. No longer token sorts before it followed by this character.
      const next: string | undefined = found === from ? `${found}\u{1}` : found;
      strayWords += await this.#subtractRange(engine, table, list, [from, next], end);
      from = next;
    }
    return strayWords;
  }

  async #subtractRange(
    engine: Engine,
    table: SearchTable,
    list: string,
    [from, next]: readonly [string, string | undefined],
    end: number,
  ): Promise<number> {
    const snapshot = await engine.openScan?.();
    if (snapshot === undefined) throw new Error('an engine with a list of tokens scans it');
    const strays = new Map<number, number>();
    let term = '';
    let hash = 0;
    const visit = (row: Token) => {
      if (row.term !== term) hash = hashOf((term = row.term));
      const position = row.doc;
      const at = this.#find(position);
      if (at !== undefined) {
        this.#counts[at] = (this.#counts[at] ?? 0) - 1;
        this.#sums[at] = (this.#sums[at] ?? 0) - hash;
      } else if (position >= this.#start && position < end && strays.size < limits.indexCheckStraysMax) {
        strays.set(position, (strays.get(position) ?? 0) + 1);
      }
    };
    const range: Statement<Token> = `SELECT term, doc FROM ${list} WHERE term >= ? ${next === undefined ? '' : 'AND term < ?'}`;
    try {
      await snapshot.scan(visit, range, from, ...(next === undefined ? [] : [next]));
      let strayWords = 0;
      for (const [position, words] of strays) {
        const entries = await snapshot.read(`SELECT position FROM ${table} WHERE position = ?`, position);
        if (entries.length === 0) strayWords += words;
      }
      return strayWords;
    } finally {
      snapshot.close();
    }
  }

  #find(position: number): number | undefined {
    let low = 0;
    let high = this.#length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const found = this.#positions[middle] ?? 0;
      if (found === position) return middle;
      if (found < position) low = middle + 1;
      else high = middle - 1;
    }
    return undefined;
  }

  *different(): Generator<number> {
    for (let at = 0; at < this.#length; at += 1) {
      if (this.#counts[at] !== 0 || this.#sums[at] !== 0) yield this.#positions[at] ?? 0;
    }
  }
}
