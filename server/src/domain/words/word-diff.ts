/** One part of a comparison: in both texts, only in the earlier one, or only in the later one. */
export type Part = { kind: 'same' | 'gone' | 'new'; text: string };

/**
 * The difference between two texts, by words: the parts that are not new are the earlier text, those that are not gone
 * the later one. The time is bounded: if comparing words would take long, lines are compared, and if that would take long
 * too, the whole text is replaced.
 */
export function diffWords(before: string, after: string): Part[] {
  for (const pattern of [words, lines]) {
    const parts = diffBy(pattern, before, after);
    if (parts !== undefined) return tidy(parts);
  }
  return tidy([
    { kind: 'gone', text: before },
    { kind: 'new', text: after },
  ]);
}

/** In scripts without spaces, each character is a word; each character that belongs to no word is a part of its own. */
const words =
  /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}]\p{M}*|[[\p{L}\p{M}\p{N}_]--[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}]]+|\s+|.\p{M}*/gv;
const lines = /[^\n]*\n|[^\n]+/g;

/** Steps that a comparison may take: about ten milliseconds. */
const stepsMax = 500_000;

function diffBy(pattern: RegExp, before: string, after: string): Part[] | undefined {
  const a = before.match(pattern) ?? [];
  const b = after.match(pattern) ?? [];
  const most = Math.min(a.length, b.length);
  let start = 0;
  while (start < most && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < most - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const middle = shortest(a.slice(start, a.length - end), b.slice(start, b.length - end));
  if (middle === undefined) return undefined;
  return [
    { kind: 'same', text: a.slice(0, start).join('') },
    ...middle,
    { kind: 'same', text: a.slice(a.length - end).join('') },
  ];
}

/**
 * The smallest number of removed and added words, by the algorithm of Myers: for each number of edits, how far each
 * diagonal reaches; then the path back. Undefined if that takes too many steps.
 */
function shortest(a: readonly string[], b: readonly string[]): Part[] | undefined {
  const [m, n] = [a.length, b.length];
  const reached: Int32Array[] = [];
  let steps = 0;
  for (let edits = 0; edits <= m + n; edits += 1) {
    // Diagonal k (of -edits to edits) is at k + edits + 1; one more element on both sides avoids checks at the ends.
    const far = new Int32Array(2 * edits + 3).fill(-1);
    const last = reached.at(-1);
    reached.push(far);
    for (let k = -edits; k <= edits; k += 2) {
      let x = last === undefined ? 0 : stepOf(last, k, edits).x;
      while (x < m && x - k < n && a[x] === b[x - k]) {
        x += 1;
        steps += 1;
      }
      far[k + edits + 1] = x;
      if (x >= m && x - k >= n) return pathBack(a, b, reached);
    }
    steps += 2 * edits + 3;
    if (steps > stepsMax) return undefined;
  }
  return [];
}

/** The edit that leads furthest on diagonal k: one word added, or one word removed. */
function stepOf(last: Int32Array, k: number, edits: number): { x: number; isNew: boolean } {
  const above = last[k + 1 + edits] ?? -1;
  const left = last[k - 1 + edits] ?? -1;
  const isNew = k === -edits || (k !== edits && left < above);
  return { x: isNew ? above : left + 1, isNew };
}

function pathBack(a: readonly string[], b: readonly string[], reached: readonly Int32Array[]): Part[] {
  const parts: Part[] = [];
  let [x, y] = [a.length, b.length];
  for (let edits = reached.length - 1; edits >= 0; edits -= 1) {
    const last = reached[edits - 1];
    const k = x - y;
    const step = last === undefined ? { x: 0, isNew: false } : stepOf(last, k, edits);
    parts.push({ kind: 'same', text: a.slice(step.x, x).join('') });
    x = step.x;
    y = x - k;
    if (last === undefined) break;
    if (step.isNew) parts.push({ kind: 'new', text: b[(y -= 1)] ?? '' });
    else parts.push({ kind: 'gone', text: a[(x -= 1)] ?? '' });
  }
  return parts.reverse();
}

/** Joins changes with no word between them: first the removed text, then the added text. */
function tidy(parts: readonly Part[]): Part[] {
  const tidied: Part[] = [];
  let [same, gone, fresh] = ['', '', ''];
  const change = () => {
    if (gone !== '') tidied.push({ kind: 'gone', text: gone });
    if (fresh !== '') tidied.push({ kind: 'new', text: fresh });
    gone = fresh = '';
  };
  const settle = () => {
    if (same === '') return;
    // A space after a changed word follows both versions.
    const space = gone.slice(gone.trimEnd().length);
    if (space !== '' && fresh.endsWith(space)) {
      gone = gone.slice(0, -space.length);
      fresh = fresh.slice(0, -space.length);
      same = space + same;
    }
    change();
    tidied.push({ kind: 'same', text: same });
    same = '';
  };
  for (const { kind, text } of parts) {
    if (text === '') continue;
    if (kind === 'same') {
      same += text;
      continue;
    }
    if (/[\p{L}\p{N}]/u.test(same) || (gone === '' && fresh === '')) settle();
    gone += same;
    fresh += same;
    same = '';
    if (kind === 'gone') gone += text;
    else fresh += text;
  }
  settle();
  change();
  return tidied;
}
