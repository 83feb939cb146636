import { limits } from '../../contract/limits.ts';
import type { Problem } from '../../contract/problem.ts';
import type { RecordKind } from '../../contract/record.ts';
import { BadRecord } from '../../domain/errors.ts';
import { prepareRecord } from '../../domain/records/prepare-record.ts';
import type { Mapping, RecordInput, Report, Skip } from '../source.ts';
import { isAbsent, isObject, type OpenObject, parseJson } from './json.ts';
import { removeSignatures } from './links.ts';

type RecordProblem = Pick<Problem, 'path' | 'text'> & { reason: 'too large' | 'not valid' };
const tooLarge: RecordProblem = {
  reason: 'too large',
  path: [],
  text: `longer than ${limits.recordBytesMax} bytes`,
};

const valid = new WeakSet<RecordInput>();

/** Whether `finish` has returned this record: then it matches its schema, and need not be validated again. */
export const isValid = (record: RecordInput): boolean => valid.has(record);

/** Maps the values of one record. Lists what cannot be imported, by the path of the part. */
export class RecordMapper {
  readonly #kind: RecordKind;
  readonly #id: string;
  readonly #report: Report;
  readonly filesBase: string | undefined;
  /** The paths of parts in the source: positions in the record change when a part is removed. */
  readonly #paths = new Map<unknown, string>();

  constructor(kind: RecordKind, id: string, { options: { filesBase }, report }: Mapping) {
    this.#kind = kind;
    this.#id = id;
    this.#report = report;
    this.filesBase = filesBase;
  }

  skip(part: string | undefined, reason: string, detail?: string): void {
    const skip: Skip = { kind: this.#kind, id: this.#id, reason };
    if (part !== undefined) skip.part = part;
    if (detail !== undefined) skip.detail = detail;
    this.#report.skip(skip);
  }

  /** Remembers where a part of the record comes from. */
  place<P extends object>(part: P, path: string): P {
    this.#paths.set(part, path);
    return part;
  }

  /** A text without signatures of links. */
  readonly text = (text: string): string => {
    const cleaned = removeSignatures(text, this.filesBase);
    if (cleaned.count > 0) this.#report.count('signed links removed', cleaned.count);
    return cleaned.text;
  };

  textOrNull(text: string | null | undefined): string | null {
    return text === null || text === undefined ? null : this.text(text);
  }

  /** The value of a cell with JSON; undefined if it is empty or cannot be parsed. */
  json(cell: string | null | undefined, part: string): unknown {
    if (isAbsent(cell)) return undefined;
    const parsed = parseJson(cell, this.text);
    if ('problem' in parsed) {
      this.skip(part, parsed.problem);
      return undefined;
    }
    if (parsed.hadNonFinite) this.skip(part, 'NaN or Infinity', 'replaced by null');
    if (parsed.hadLargeNumber) this.#report.count('cells with numbers kept as text');
    if (parsed.hadBadText) this.#report.count('cells with NUL or lone surrogates replaced');
    return parsed.value ?? undefined;
  }

  /** An object in a cell with JSON, or undefined. Another value is listed, unless it is empty. */
  object(cell: string | null | undefined, part: string): OpenObject | undefined {
    const value = this.json(cell, part);
    if (value === undefined || isObject(value)) return value;
    if (!(Array.isArray(value) && value.length === 0)) this.skip(part, 'not an object');
    return undefined;
  }

  /** A list in a cell with JSON, or undefined. Another value is listed. */
  list(cell: string | null | undefined, part: string): unknown[] | undefined {
    const value = this.json(cell, part);
    if (value === undefined || Array.isArray(value)) return value;
    this.skip(part, 'not a list');
    return undefined;
  }

  /**
   * The record if it is valid, without parts that are not: elements of `lists`, and values of `optional` fields, which are
   * replaced by the given ones. A record that is too large loses its longest values. Undefined if the record cannot be
   * imported.
   */
  finish(record: RecordInput, { lists = [], optional = {}, skipsLarge = false }: Repair = {}): RecordInput | undefined {
    for (;;) {
      const problem = findProblem(record);
      if (problem === undefined) {
        valid.add(record);
        return record;
      }
      const { reason, text, path } = problem;
      const isShortened = reason === 'too large' && !skipsLarge;
      const [field = '', index] = isShortened ? [longestField(record, Object.keys(optional))] : path;
      if (typeof index === 'number' && lists.includes(`${field}`)) {
        const [part] = (record[field] as unknown[]).splice(index, 1);
        this.skip(this.#paths.get(part) ?? `${field}[${index}]`, reason, text);
      } else if (Object.hasOwn(optional, field) && !isEqual(record[field], optional[field])) {
        record[field] = optional[field];
        this.skip(`${field}`, reason, text);
      } else {
        this.skip(undefined, reason, text);
        return undefined;
      }
    }
  }
}

/** `skipsLarge`: a record that is too large is not imported. Set it only for kinds that others do not refer to. */
export type Repair = { lists?: readonly string[]; optional?: OpenObject; skipsLarge?: boolean };

const isEqual = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Empty if all of them are short. */
function longestField(record: RecordInput, fields: readonly string[]): string {
  const length = (field: string): number => JSON.stringify(record[field] ?? null).length;
  const long = fields.filter((field) => length(field) > 1_000);
  return long.toSorted((a, b) => length(b) - length(a))[0] ?? '';
}

/** The reason for which the import would reject the record. */
function findProblem(record: RecordInput): RecordProblem | undefined {
  const json = JSON.stringify(record);
  if (Buffer.byteLength(json) > limits.recordBytesMax) return tooLarge;
  try {
    prepareRecord({ number: 1 }, json, 0, []);
    return undefined;
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error;
    return { reason: 'not valid', path: error.problem.path, text: error.problem.text };
  }
}
