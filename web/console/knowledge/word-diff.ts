/** One stretch of a comparison: in both texts, only in the earlier one, or only in the later one. */
export type Part = { kind: 'same' | 'gone' | 'new'; text: string };

/**
 * How one text becomes another, by words: the parts that are not new give the earlier text, those that are not gone the
 * later one. Takes little time whatever the texts: where comparing words would take long, lines are compared, and where
 * that would too, one block stands for the other.
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

/** Where words are written without spaces, each character is one; what belongs to no word stands alone. */
const words =
  /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}]\p{M}*|[[\p{L}\p{M}\p{N}_]--[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}]]+|\s+|.\p{M}*/gv;
const lines = /[^\n]*\n|[^\n]+/g;

/** Steps that a comparison may take: some ten milliseconds. */
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
 * The fewest words gone and new, after Myers: for each number of edits, how far each diagonal reaches; then the way back.
 * Undefined where that takes too many steps.
 */
function shortest(a: readonly string[], b: readonly string[]): Part[] | undefined {
  const [m, n] = [a.length, b.length];
  const reached: Int32Array[] = [];
  let steps = 0;
  for (let edits = 0; edits <= m + n; edits += 1) {
    // Diagonal k (of -edits to edits) lies at k + edits + 1; a place more on both sides saves asking for the ends.
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
      if (x >= m && x - k >= n) return wayBack(a, b, reached);
    }
    steps += 2 * edits + 3;
    if (steps > stepsMax) return undefined;
  }
  return [];
}

/** The edit that leads furthest on diagonal k: one more of the later text, or one less of the earlier one. */
function stepOf(last: Int32Array, k: number, edits: number): { x: number; isNew: boolean } {
  const above = last[k + 1 + edits] ?? -1;
  const left = last[k - 1 + edits] ?? -1;
  const isNew = k === -edits || (k !== edits && left < above);
  return { x: isNew ? above : left + 1, isNew };
}

function wayBack(a: readonly string[], b: readonly string[], reached: readonly Int32Array[]): Part[] {
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

/** Changes with no word between them are read as one: what is gone, then what is new. */
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
    // The space behind a changed word is behind both.
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
