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

/** Only these fields of an object. */
export function pick(value: OpenObject, names: readonly string[]): OpenObject {
  return Object.fromEntries(names.filter((name) => Object.hasOwn(value, name)).map((name) => [name, value[name]]));
}
