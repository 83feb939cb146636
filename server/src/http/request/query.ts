import type { FastifySchemaCompiler } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { describeProblem } from '../../contract/problem.ts';
import { compile, type Validator } from '../../contract/validator.ts';
import { invalidParam } from '../../domain/errors.ts';

type ObjectSchema = TSchema & { properties: Record<string, { type?: string }>; required?: string[] };

/** Validates by the route's own schema; what is wrong is said by field. */
export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  let validator: Validator | undefined;
  const read = httpPart === 'querystring' ? queryReader(schema as ObjectSchema) : (value: unknown) => value;
  // Said of a body that is no object at all.
  const whole = `the body, which holds ${Object.keys((schema as ObjectSchema).properties ?? {}).join(', ')},`;
  return (raw: unknown) => {
    const value = read(raw);
    validator ??= compile(schema);
    if (!validator.Check(value)) return { error: invalidParam(describeProblem(validator.Errors(value), whole)) };
    return { value: value as Static<TSchema> };
  };
};

/**
 * A query is text: digits become the integers the schema asks for, what is empty counts as absent, a repeated
 * parameter is refused, and one that the schema does not name is left alone.
 */
function queryReader({ properties }: ObjectSchema) {
  const names = Object.entries(properties).map(([name, { type }]) => ({ name, isInteger: type === 'integer' }));
  return (raw: unknown): Record<string, unknown> => {
    const given = raw as Record<string, string | string[]>;
    const value: Record<string, unknown> = {};
    for (const { name, isInteger } of names) {
      const text = given[name];
      if (text === undefined || text === '') continue;
      if (Array.isArray(text)) throw invalidParam(`${name} must not be repeated`);
      value[name] = isInteger && /^\d{1,15}$/.test(text) ? Number(text) : text;
    }
    return value;
  };
}
