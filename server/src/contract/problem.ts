import { limits } from './limits.ts';
import { cursorPattern, cursorProblem, noNul, notBlank } from './rules.ts';

/** An error reported by a compiled schema. */
export type SchemaProblem = {
  keyword: string;
  instancePath: string;
  params: Record<string, unknown>;
  message: string;
};

const formats: Record<string, string> = {
  uuid: 'a UUID',
  decimal: 'a decimal number with an exponent of at most two digits',
};

const patterns: Record<string, string> = {
  [notBlank.source]: 'must not be blank',
  [noNul.source]: 'must not contain NUL',
  [cursorPattern.source]: cursorProblem,
};

/** `message_files[0].id` for `/message_files/0/id`. */
function fieldName(instancePath: string): string {
  return instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : join(path, part)), '');
}

const join = (path: string, name: unknown): string => (path === '' ? `${name}` : `${path}.${name}`);

/** One sentence that names the field and its problem. */
export function describeProblem(problems: readonly SchemaProblem[], whole = 'the record'): string {
  // An unknown field is reported twice, once for the schema `false`; a nullable object once for each branch.
  const problem = problems.find(({ keyword }) => keyword !== 'boolean' && keyword !== 'anyOf') ?? problems[0];
  if (problem === undefined) return `${whole} does not match its schema`;
  const { keyword, params, message } = problem;
  const field = fieldName(problem.instancePath);
  const named = field === '' ? whole : field;
  switch (keyword) {
    case 'additionalProperties':
      return `${join(field, (params.additionalProperties as string[])[0])} is not a known field`;
    case 'required':
      return `${join(field, (params.requiredProperties as string[])[0])} is required`;
    case 'enum':
      return `${named} must be one of ${(params.allowedValues as unknown[]).filter((v) => v !== null).join(', ')}`;
    case 'format':
      return `${named} must be ${formats[`${params.format}`] ?? `a ${params.format}`}`;
    case 'type':
      return `${named} must be ${[params.type].flat().map(withArticle).join(' or ')}`;
    case 'pattern':
      return `${named} ${patterns[`${params.pattern}`] ?? message}`;
    case 'minLength':
      return `${named} must not be empty`;
    default:
      return `${named} ${message}`;
  }
}

const withArticle = (type: unknown): string =>
  type === 'null' ? 'null' : `${/^[aeio]/.test(`${type}`) ? 'an' : 'a'} ${type}`;

/**
 * Describes the first value that cannot be stored and returned unchanged. `json` is the text that `value` was parsed
 * from. It is well-formed Unicode, so only an escape can produce a lone surrogate or NUL.
 */
export function findBadValue(value: unknown, json: string): string | undefined {
  return isSuspect(value, 0, json.includes('\\u')) ? findBad(value, '', 0) : undefined;
}

/** Doubles cannot distinguish integers of magnitude 2^53 or more from their neighbours. */
const isTooLarge = (value: number): boolean => !(Math.abs(value) <= Number.MAX_SAFE_INTEGER);

/** Whether there is a bad value. There rarely is one, so this check is fast and builds no paths. */
function isSuspect(value: unknown, depth: number, hasEscapes: boolean): boolean {
  if (typeof value === 'string') return hasEscapes && isBadText(value);
  if (typeof value === 'number') return isTooLarge(value);
  if (typeof value !== 'object' || value === null) return false;
  if (depth > limits.jsonDepthMax) return true;
  if (Array.isArray(value)) return value.some((inner) => isSuspect(inner, depth + 1, hasEscapes));
  for (const name in value) {
    if (hasEscapes && isBadText(name)) return true;
    if (isSuspect((value as never)[name], depth + 1, hasEscapes)) return true;
  }
  return false;
}

const isBadText = (text: string): boolean => !text.isWellFormed() || text.includes('\0');

function findBad(value: unknown, path: string, depth: number): string | undefined {
  if (typeof value === 'string') return badText(value, path);
  if (typeof value === 'number') {
    return isTooLarge(value) ? `${path} must be a number within ±${Number.MAX_SAFE_INTEGER}` : undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > limits.jsonDepthMax) return `${path.slice(0, 80)} is nested more than ${limits.jsonDepthMax} deep`;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const bad = findBad(value[index], `${path}[${index}]`, depth + 1);
      if (bad !== undefined) return bad;
    }
    return undefined;
  }
  for (const name of Object.keys(value)) {
    const inner = join(path, name);
    const bad = badText(name, inner) ?? findBad((value as never)[name], inner, depth + 1);
    if (bad !== undefined) return bad;
  }
  return undefined;
}

function badText(value: string, path: string): string | undefined {
  if (!value.isWellFormed()) return `${path.toWellFormed()} must be well-formed Unicode`;
  if (value.includes('\0')) return `${path.replaceAll('\0', '')} must not contain NUL`;
  return undefined;
}
