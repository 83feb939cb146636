import type { FastifySchemaCompiler } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { describeProblem } from '../../contract/problem.ts';
import { compile, type Validator } from '../../contract/validator.ts';
import { invalidParam, type ServiceError } from '../../domain/errors.ts';

type ObjectSchema = TSchema & {
  properties: Record<string, { type?: string; minLength?: number }>;
  required?: string[];
};

/** Validates against the route's schema. The error message names the field. */
export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart, url }) => {
  let validator: Validator | undefined;
  const read =
    httpPart === 'querystring' ? queryReader(schema as ObjectSchema, isStrict(url)) : (value: unknown) => value;
  return (raw: unknown) => {
    const value = read(raw);
    validator ??= compile(schema);
    if (!validator.Check(value)) return { error: rejected(validator, value, schema) };
    return { value: value as Static<TSchema> };
  };
};

const validators = new WeakMap<TSchema, Validator>();

/** The value of a body that the route reads by itself. */
export function requireValid<S extends TSchema>(schema: S, value: unknown): Static<S> {
  const validator = validators.get(schema) ?? compile(schema);
  validators.set(schema, validator);
  if (!validator.Check(value)) throw rejected(validator, value, schema);
  return value as Static<S>;
}

function rejected(validator: Validator, value: unknown, schema: TSchema): ServiceError {
  const { text, logged } = describeProblem(validator.Errors(value), wholeOf(schema));
  return invalidParam(text, logged);
}

/** The subject of an error message if the body is not an object. */
const wholeOf = (schema: TSchema): string =>
  `the body (fields: ${Object.keys((schema as ObjectSchema).properties ?? {}).join(', ')})`;

/** Clients of `/v1` send parameters of other servers too. Under `/admin` a filter that is ignored would show wrong data. */
const isStrict = (url: string | undefined): boolean => url?.startsWith('/admin/') ?? false;

/**
 * Query parameters are text: digits become integers if the schema requires an integer. An empty parameter counts as absent
 * unless the schema is `nonEmpty`, a repeated one is rejected unless the schema requires a list, and an unknown one is ignored, or rejected if `strict`.
 */
function queryReader({ properties, required = [] }: ObjectSchema, strict: boolean) {
  const parameters = Object.entries(properties).map(([name, { type, minLength = 0 }]) => ({
    name,
    mayBeEmpty: minLength === 0 || required.includes(name),
    isInteger: type === 'integer',
    isList: type === 'array',
  }));
  return (raw: unknown): Record<string, unknown> => {
    const rawQuery = raw as Record<string, string | string[]>;
    if (strict) rejectUnknown(rawQuery, properties);
    const value: Record<string, unknown> = {};
    for (const { name, mayBeEmpty, isInteger, isList } of parameters) {
      const text = rawQuery[name];
      if (text === undefined || (text === '' && mayBeEmpty)) continue;
      if (isList) {
        const items = [text].flat().filter((item) => item !== '');
        if (items.length > 0) value[name] = items;
        continue;
      }
      if (Array.isArray(text)) throw invalidParam(`${name} must not be repeated`);
      value[name] = isInteger && /^\d+$/.test(text) ? Number(text) : text;
    }
    return value;
  };
}

function rejectUnknown(rawQuery: Record<string, string | string[]>, properties: object): void {
  for (const name of Object.keys(rawQuery)) {
    if (Object.hasOwn(properties, name) || rawQuery[name] === '') continue;
    throw invalidParam(`${name} is not a known parameter`, 'a parameter is not known');
  }
}
