import { limits } from '../../contract/limits.ts';

/** Applied to each text of a parsed value. */
export type CleanText = (text: string) => string;

export type ParsedJson =
  | { value: unknown; hadNonFinite: boolean; hadLargeNumber: boolean; hadBadText: boolean }
  | { problem: 'malformed JSON' | 'nested too deep' };

/**
 * Parses JSON that Python wrote and accepts values that cannot be stored: NaN and Infinity become null, numbers beyond
 * ±(2^53 − 1) their own text, NUL is removed and a lone surrogate becomes U+FFFD.
 */
export function parseJson(text: string, cleanText: CleanText): ParsedJson {
  let json = text;
  let value = tryParse(json);
  if (value === undefined) {
    json = withoutNonFinite(text);
    value = json === text ? undefined : tryParse(json);
    if (value === undefined) return { problem: 'malformed JSON' };
  }
  const walk = new Walk(cleanText, json.includes('\\u'));
  // An outer level is the record itself.
  if (!walk.fits(value, 1)) return { problem: 'nested too deep' };
  if (walk.hadLargeNumber) value = JSON.parse(json, keepLargeNumber as never);
  return {
    value: walk.clean(value),
    hadNonFinite: json !== text,
    hadLargeNumber: walk.hadLargeNumber,
    hadBadText: walk.hadBadText,
  };
}

function tryParse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

const isLarge = (value: unknown): boolean => typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER);

const keepLargeNumber = (_name: string, value: unknown, { source }: { source: string }): unknown =>
  isLarge(value) ? source : value;

/** Replaces NaN, Infinity and -Infinity outside strings. */
function withoutNonFinite(text: string): string {
  let result = '';
  let copied = 0;
  for (let position = 0; position < text.length; position += 1) {
    const char = text[position];
    if (char === '"') position = endOfString(text, position);
    if (char !== 'N' && char !== 'I' && char !== '-') continue;
    nonFinite.lastIndex = position;
    const [match] = nonFinite.exec(text) ?? [];
    if (match === undefined) continue;
    result += `${text.slice(copied, position)}null`;
    copied = position + match.length;
    position = copied - 1;
  }
  return result + text.slice(copied);
}

const nonFinite = /NaN|-?Infinity/y;

/** The position of the quote that ends the string, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let position = start + 1; position < text.length; position += 1) {
    if (text[position] === '\\') position += 1;
    else if (text[position] === '"') return position;
  }
  return text.length;
}

type OpenObject = Record<string, unknown>;

class Walk {
  hadLargeNumber = false;
  hadBadText = false;
  readonly #cleanText: CleanText;
  readonly #hasEscapes: boolean;

  constructor(cleanText: CleanText, hasEscapes: boolean) {
    this.#cleanText = cleanText;
    this.#hasEscapes = hasEscapes;
  }

  /** Whether a record may contain it. Checked before anything else walks the value: a deep one would overflow the stack. */
  fits(value: unknown, depth: number): boolean {
    if (isLarge(value)) this.hadLargeNumber = true;
    if (typeof value !== 'object' || value === null) return true;
    if (depth > limits.jsonDepthMax) return false;
    return Object.values(value).every((inner) => this.fits(inner, depth + 1));
  }

  clean(value: unknown): unknown {
    if (typeof value === 'string') return this.#cleanText(this.#repair(value));
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((inner) => this.clean(inner));
    const entries = Object.entries(value as OpenObject);
    // Not by assignment, which would change the prototype for the name `__proto__`.
    return Object.fromEntries(entries.map(([name, inner]) => [this.#repair(name), this.clean(inner)]));
  }

  /** Only an escape produces NUL or a lone surrogate: the text itself is valid UTF-8 without NUL. */
  #repair(text: string): string {
    if (!this.#hasEscapes || (text.isWellFormed() && !text.includes('\0'))) return text;
    this.hadBadText = true;
    return text.toWellFormed().replaceAll('\0', '');
  }
}
