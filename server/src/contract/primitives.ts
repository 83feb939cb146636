import type { Static, TNumberOptions, TObject, TProperties, TSchema, TStringOptions } from 'typebox';
import { limits } from './limits.ts';
import { cursorPattern } from './rules.ts';
import { Type } from './type.ts';

const uuidShape = '00000000-0000-0000-0000-000000000000';
const hyphen = uuidShape.charCodeAt(8);
const isHexadecimal = Uint8Array.from({ length: 128 }, (_, code) => +/[0-9a-f]/i.test(String.fromCharCode(code)));

/** Every page, edit and import checks many ids, and a pattern takes twice as long. */
export function isUuid(id: string): boolean {
  if (id.length !== uuidShape.length) return false;
  for (let at = 0; at < uuidShape.length; at += 1) {
    const code = id.charCodeAt(at);
    if (uuidShape.charCodeAt(at) === hyphen ? code !== hyphen : isHexadecimal[code] !== 1) return false;
  }
  return true;
}

/** A decimal number. The short exponent keeps it within the range of a double. */
export const decimalPattern = /^-?\d+(\.\d+)?([eE][+-]?\d{1,2})?$/;

/**
 * Returns the form in which an id is stored and looked up: UUIDs are in lower case, so they match case-insensitively. No
 * stored id contains NUL, and PostgreSQL rejects it in parameters; an id with NUL becomes '', which matches no id either.
 */
export function canonicalId(id: string): string {
  if (isUuid(id)) return id.toLowerCase();
  return id.includes('\0') ? '' : id;
}

/** An object whose ids, the texts with names such as `app_id`, are canonical. */
export const canonicalIds = <O extends object>(object: O): O => {
  const isId = (name: string, value: unknown) => name.endsWith('_id') && typeof value === 'string';
  const fields = Object.entries(object).map(([name, value]) => [name, isId(name, value) ? canonicalId(value) : value]);
  return Object.fromEntries(fields);
};

/** The names of an object whose type has all of them. */
export const keysOf = <T extends object>(object: T) => Object.keys(object) as (keyof T & string)[];

type Notes = { description?: string; default?: unknown; examples?: unknown[] };

export const text = (description: string, notes: Notes = {}) => Type.String({ description, ...notes });
export const withDefault = <S extends TSchema>(schema: S, value: unknown): S => ({ ...schema, default: value });
/** An optional filter of which an empty value is rejected, also of an integer: as absent, it would select everything. */
export const nonEmpty = <S extends TSchema>(schema: S) => Type.Optional({ ...schema, minLength: 1 });
export const uuid = (description: string) => Type.String({ format: 'uuid', description });
export const id = (description: string) => Type.String({ minLength: 1, maxLength: limits.idUnitsMax, description });
export const decimal = (description: string) =>
  Type.String({ format: 'decimal', maxLength: limits.decimalCharsMax, description });
export const integer = (description: string) => Type.Integer({ description });
export const number = (format: 'float' | 'double', description: string) => Type.Number({ format, description });
export const flag = (description: string) => Type.Boolean({ description });
export const epochSeconds = (description: string) =>
  Type.Integer({ format: 'int64', description: `${description} Unix epoch seconds.` });

export function choice<const V extends readonly string[]>(values: V, description: string, byDefault?: V[number]) {
  const type = { type: 'string', enum: values, description };
  return Type.Unsafe<V[number]>(byDefault === undefined ? type : { ...type, default: byDefault });
}

export const optional = {
  text: (description: string, rules: TStringOptions = {}) => Type.Optional(Type.String({ ...rules, description })),
  cursor: (description: string) => optional.text(description, { pattern: cursorPattern.source }),
  integer: (description: string, rules: TNumberOptions) => Type.Optional(Type.Integer({ ...rules, description })),
  limit: (description: string, maximum: number = limits.listRowsMax, byDefault: number = limits.listRowsDefault) =>
    optional.integer(description, { minimum: 1, maximum, default: byDefault }),
  /** A time: any that a number expresses exactly, unless `rules` limit it. */
  seconds: (
    description: string,
    rules: TNumberOptions = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
  ) => optional.integer(`${description} Unix epoch seconds.`, rules),
  choice: <const V extends readonly string[]>(values: V, description: string, byDefault?: V[number]) =>
    Type.Optional(choice(values, description, byDefault)),
};

/** Of an offset page. The largest number of a page is the last one that a response can repeat exactly. */
export const pageParameters = (limitMax: number, what: string) => ({
  page: optional.integer('Number of the page.', { minimum: 1, maximum: Number.MAX_SAFE_INTEGER, default: 1 }),
  limit: optional.limit(`Number of ${what} per page.`, limitMax),
});

/** A named schema of the OpenAPI document: an object without additional properties. */
export const named = <const P extends TProperties>(title: string, description: string, properties: P): TObject<P> =>
  shape(properties, { title, description });

/** A named schema of what clients send, who may send additional properties. */
export const input = <const P extends TProperties>(title: string, description: string, properties: P): TObject<P> =>
  Type.Object(properties, { title, description });

export const described = <const P extends TProperties>(description: string, properties: P): TObject<P> =>
  shape(properties, { description });

/** An object without additional properties. */
export function shape<const P extends TProperties>(
  properties: P,
  notes: { title?: string; description?: string } = {},
): TObject<P> {
  return Type.Object(properties, { additionalProperties: false, ...notes });
}

export const list = <S extends TSchema>(items: S, description: string) => Type.Array(items, { description });

/** An object with arbitrary properties, stored and returned unchanged. */
export const openObject = (description: string) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, description });

export const texts = (description: string) =>
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string' },
    description,
  });

/** Any JSON value. The specification of the API shows only null. */
export const anyJson = (description: string) => Type.Unsafe<unknown>({ description, default: null });

/** The schema, or null: `type: [T, 'null']` for simple types, `anyOf` for objects with named properties. */
export function nullable<S extends TSchema>(schema: S) {
  const { description, ...bare } = schema as TSchema & { description?: string; type?: string; enum?: string[] };
  const notes = description === undefined ? {} : { description };
  const nullableSchema =
    bare.type === 'object' && 'properties' in bare
      ? { anyOf: [bare, { type: 'null' }], ...notes }
      : { ...bare, type: [bare.type, 'null'], ...(bare.enum && { enum: [...bare.enum, null] }), ...notes };
  return Type.Unsafe<Static<S> | null>(nullableSchema);
}
