import { createRequire } from 'node:module';
import type { TSchema } from 'typebox';
import { decimalPattern, isUuid } from './primitives.ts';
import type { SchemaProblem } from './problem.ts';

export type Validator = { Check(value: unknown): boolean; Errors(value: unknown): SchemaProblem[] };

const require = createRequire(import.meta.url);
let typebox: typeof import('typebox/schema') | undefined;

/** Call it only when there is a value to check: the first call loads the compiler, which has hundreds of modules. */
export function compile(schema: TSchema): Validator {
  const validator = loadCompiler().Compile(schema);
  return {
    Check: (value) => validator.Check(value),
    Errors: (value) => validator.Errors(value)[1],
  };
}

/** Call it before the first request needs it: loading takes a while. */
export function loadCompiler(): typeof import('typebox/schema') {
  if (typebox === undefined) {
    const format: typeof import('typebox/format') = require('typebox/format');
    format.Set('uuid', isUuid);
    format.Set('decimal', (value) => decimalPattern.test(value));
    typebox = require('typebox/schema') as typeof import('typebox/schema');
  }
  return typebox;
}
