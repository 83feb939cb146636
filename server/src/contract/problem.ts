import { limits } from './limits.ts';
import { cursorPattern, cursorProblem, noNul, notBlank } from './rules.ts';

/** An error reported by a compiled schema. */
export type SchemaProblem = {
  keyword: string;
  instancePath: string;
  params: Record<string, unknown>;
  message: string;
};

/** Names of fields and positions in lists: `['message_files', 0, 'id']`. */
export type ValuePath = readonly (string | number)[];

/**
 * Why a value is rejected: a sentence for people, the path of the value, and the sentence without anything that the client
 * sent, for the log.
 */
export type Problem = { path: ValuePath; text: string; logged: string };

const formats: Record<string, string> = {
  uuid: 'a UUID',
  decimal: 'a decimal number with an exponent of at most two digits',
};

const patterns: Record<string, string> = {
  [notBlank.source]: 'must not be blank',
  [noNul.source]: 'must not contain NUL',
  [cursorPattern.source]: cursorProblem,
};

const pathOf = (instancePath: string): ValuePath =>
  instancePath
    .split('/')
    .slice(1)
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part.replaceAll('~1', '/').replaceAll('~0', '~')));

/** `message_files[0].id` */
const nameOf = (path: ValuePath): string =>
  path.reduce<string>((name, part) => (typeof part === 'number' ? `${name}[${part}]` : join(name, part)), '');

const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

/** Names one field and its problem. `whole`: the subject if the problem is not that of a field. */
export function describeProblem(problems: readonly SchemaProblem[], whole = 'the record'): Problem {
  // An unknown field is reported twice, once for the schema `false`; a nullable object once for each branch.
  const first = problems.find(({ keyword }) => keyword !== 'boolean' && keyword !== 'anyOf') ?? problems[0];
  // A field with a misspelled name is both missing and unknown: the name that was sent says more.
  const misspelled = problems.find(
    ({ keyword, instancePath }) => keyword === 'additionalProperties' && instancePath === first?.instancePath,
  );
  const problem = first?.keyword === 'required' ? (misspelled ?? first) : first;
  if (problem === undefined) return plainProblem([], `${whole} does not match its schema`);
  const { keyword, params } = problem;
  const path = pathOf(problem.instancePath);
  if (keyword === 'additionalProperties') {
    const unknown = [...path, (params.additionalProperties as string[])[0] ?? ''];
    return { path: unknown, text: `${nameOf(unknown)} is not a known field`, logged: 'a field is not known' };
  }
  if (keyword === 'required') {
    const required = [...path, (params.requiredProperties as string[])[0] ?? ''];
    return plainProblem(required, `${nameOf(required)} is required`);
  }
  const rule = ruleOf(problem);
  // Names inside an open object are the client's.
  const logged = path.length > 1 ? `${path[0]}... ${rule}` : `${path[0] ?? whole} ${rule}`;
  return { path, text: `${nameOf(path) || whole} ${rule}`, logged };
}

/** A problem whose text has nothing from the client. */
export const plainProblem = (path: ValuePath, text: string): Problem => ({ path, text, logged: text });

function ruleOf({ keyword, params, message }: SchemaProblem): string {
  switch (keyword) {
    case 'enum':
      return `must be one of ${(params.allowedValues as unknown[]).filter((v) => v !== null).join(', ')}`;
    case 'format':
      return `must be ${formats[`${params.format}`] ?? `a ${params.format}`}`;
    case 'type':
      return `must be ${[params.type].flat().map(withArticle).join(' or ')}`;
    case 'pattern':
      return patterns[`${params.pattern}`] ?? message;
    case 'minLength':
      return 'must not be empty';
    default:
      return message;
  }
}

const withArticle = (type: unknown): string =>
  type === 'null' ? 'null' : `${/^[aeio]/.test(`${type}`) ? 'an' : 'a'} ${type}`;

/**
 * Describes the first value that cannot be stored and returned unchanged. `json` is the text that `value` was parsed
 * from. It is well-formed Unicode, so only an escape can produce a lone surrogate or NUL.
 */
export function findBadValue(value: unknown, json: string): Problem | undefined {
  const bad = findBad(value, 0, json.includes('\\u'));
  if (bad === undefined) return undefined;
  const path = bad.path.reverse();
  const name = nameOf(path);
  return { path, text: `${bad.shown?.(name) ?? name} ${bad.rule}`, logged: `a value ${bad.rule}` };
}

/** `path`: from the value up. `shown`: what of its name can be shown. */
type BadValue = { rule: string; shown?: (name: string) => string; path: (string | number)[] };

/** There rarely is a bad value, so this builds no path on its way down. */
function findBad(value: unknown, depth: number, hasEscapes: boolean): BadValue | undefined {
  if (typeof value === 'string') return hasEscapes ? badText(value) : undefined;
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER ? undefined : tooLarge();
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > limits.jsonDepthMax)
    return { rule: `is nested more than ${limits.jsonDepthMax} deep`, shown: (name) => name.slice(0, 80), path: [] };
  const isList = Array.isArray(value);
  for (const name in value) {
    const inner = (value as Record<string, unknown>)[name];
    const bad = (hasEscapes && !isList ? badText(name) : undefined) ?? findBad(inner, depth + 1, hasEscapes);
    if (bad === undefined) continue;
    bad.path.push(isList ? Number(name) : name);
    return bad;
  }
  return undefined;
}

/** Doubles cannot distinguish integers of magnitude 2^53 or more from their neighbours. */
const tooLarge = (): BadValue => ({ rule: `must be a number within ±${Number.MAX_SAFE_INTEGER}`, path: [] });

function badText(text: string): BadValue | undefined {
  if (!text.isWellFormed())
    return { rule: 'must be well-formed Unicode', shown: (name) => name.toWellFormed(), path: [] };
  if (!text.includes('\0')) return undefined;
  return { rule: 'must not contain NUL', shown: (name) => name.replaceAll('\0', ''), path: [] };
}
