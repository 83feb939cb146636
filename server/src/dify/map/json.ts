import { limits } from '../../contract/limits.ts';
import { isUuid } from '../../contract/primitives.ts';

export type OpenObject = Record<string, unknown>;

export const isObject = (value: unknown): value is OpenObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Null and the empty text are the same in many columns of the source. */
export const isAbsent = (value: unknown): value is null | undefined | '' =>
  value === null || value === undefined || value === '';

export const isUuidText = (value: unknown): value is string => typeof value === 'string' && isUuid(value);

/** The value as text; undefined if it is an object or a list. */
export function asText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? `${value}` : undefined;
}

/** The value as a number; undefined if it is none. Python writes some numbers as text. */
export function asNumber(value: unknown): number | undefined {
  const isNumeric = typeof value === 'number' || (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value));
  return isNumeric && Math.abs(Number(value)) <= Number.MAX_SAFE_INTEGER ? Number(value) : undefined;
}

/** `3.0` is an integer too; JSON does not distinguish it from `3`. */
export function asInteger(value: unknown): number | undefined {
  const number = asNumber(value);
  return Number.isInteger(number) ? number : undefined;
}

export const words = (text: string): string[] => text.trim().split(/\s+/);

export function pick(value: OpenObject, names: readonly string[]): OpenObject {
  return Object.fromEntries(names.filter((name) => Object.hasOwn(value, name)).map((name) => [name, value[name]]));
}

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

/** Fields of a file inside `inputs` that belong to the installation that stored it. */
const internalFields = ['tenant_id', 'storage_key', '_storage_key', 'reference'];

/** The value of `inputs` without internals of the files in it. Their signed links are removed as in every text. */
export function withoutInternals(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutInternals);
  if (!isObject(value)) return value;
  const isFile = value.dify_model_identity === '__dify__file__';
  const entries = Object.entries(value).filter(([name]) => !isFile || !internalFields.includes(name));
  const kept = Object.fromEntries(entries.map(([name, inner]) => [name, withoutInternals(inner)]));
  const hasReference = isFile && Object.hasOwn(value, 'reference') && !Object.hasOwn(value, 'related_id');
  return hasReference ? { ...kept, related_id: referredId(value.reference) } : kept;
}

const referenceStart = 'dify-file-ref:';

/** The id of the upload or tool file in a reference: the id itself, or an object with it, in Base64. Null if it has none. */
function referredId(reference: unknown): string | null {
  if (typeof reference !== 'string') return null;
  if (!reference.startsWith(referenceStart)) return isUuidText(reference) ? reference : null;
  const parsed = parseJson(Buffer.from(reference.slice(referenceStart.length), 'base64url').toString(), String);
  const id = 'value' in parsed && isObject(parsed.value) ? parsed.value.record_id : null;
  return isUuidText(id) ? id : null;
}
