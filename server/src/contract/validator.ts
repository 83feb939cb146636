import { createRequire } from 'node:module';
import type { TSchema } from 'typebox';
import { decimalPattern, uuidPattern } from './primitives.ts';
import type { SchemaProblem } from './problem.ts';

/** Says whether a value fits a schema, and why not. */
export type Validator = { Check(value: unknown): boolean; Errors(value: unknown): SchemaProblem[] };

const require = createRequire(import.meta.url);
let typebox: typeof import('typebox/schema') | undefined;

/** TypeBox comes as hundreds of modules, so it is loaded with the first schema; call this when there is a value to check. */
export function compile(schema: TSchema): Validator {
  typebox ??= load();
  const validator = typebox.Compile(schema);
  return {
    Check: (value) => validator.Check(value),
    Errors: (value) => validator.Errors(value)[1],
  };
}

function load(): typeof import('typebox/schema') {
  const format: typeof import('typebox/format') = require('typebox/format');
  format.Set('uuid', (value) => uuidPattern.test(value));
  format.Set('decimal', (value) => decimalPattern.test(value));
  return require('typebox/schema');
}
