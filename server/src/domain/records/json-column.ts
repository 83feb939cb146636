/** What may come next in a JSON text, at one place of it. */
type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | ':' | ', or end';

const space = /[ \t\n\r]*/y;
const atom = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;
const plainText = /[^"\\\x00-\x1f]*/y;
const escapeSequence = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/**
 * The column, from 1, at which a text stops being JSON; one after its end if it is incomplete. `JSON.parse` does not always
 * say it. Only for texts that it has rejected.
 */
export function jsonErrorColumn(text: string): number {
  const open: ('{' | '[')[] = [];
  let expected: Expected = 'value';
  let at = 0;
  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const isFound = pattern.test(text);
    if (isFound) at = pattern.lastIndex;
    return isFound;
  };
  /** Whether a string was skipped. If not, `at` is the place of the error. */
  const skipString = (): boolean => {
    at += 1;
    do skip(plainText);
    while (skip(escapeSequence));
    if (text[at] !== '"') return false;
    at += 1;
    return true;
  };
  for (;;) {
    skip(space);
    const next = text[at];
    const inside = open.at(-1);
    if (expected === ':' && next === ':') {
      expected = 'value';
    } else if (expected === ', or end' && next === ',' && inside !== undefined) {
      expected = inside === '{' ? 'name' : 'value';
    } else if (next === '}' && inside === '{' && (expected === ', or end' || expected === 'name or }')) {
      open.pop();
      expected = ', or end';
    } else if (next === ']' && inside === '[' && (expected === ', or end' || expected === 'value or ]')) {
      open.pop();
      expected = ', or end';
    } else if (next === '"' && expected.startsWith('name')) {
      if (!skipString()) return at + 1;
      expected = ':';
      continue;
    } else if (expected.startsWith('value') && (next === '{' || next === '[')) {
      open.push(next);
      expected = next === '{' ? 'name or }' : 'value or ]';
    } else if (expected.startsWith('value') && (next === '"' ? skipString() : skip(atom))) {
      expected = ', or end';
      continue;
    } else return at + 1;
    at += 1;
  }
}
