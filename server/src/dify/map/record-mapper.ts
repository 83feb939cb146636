import { limits } from '../../contract/limits.ts';
import type { Problem } from '../../contract/problem.ts';
import type { RecordKind } from '../../contract/record.ts';
import { BadRecord } from '../../domain/errors.ts';
import { prepareRecord } from '../../domain/records/prepare-record.ts';
import type { Mapping, MessageRow, RecordInput, Report } from '../source.ts';
import { isObject, type OpenObject, parseJson } from './json.ts';
import { removeSignatures } from './links.ts';

type RecordProblem = Pick<Problem, 'path' | 'text'> & { reason: 'too large' | 'not valid' };
const tooLarge: RecordProblem = {
  reason: 'too large',
  path: [],
  text: `longer than ${limits.recordBytesMax} bytes`,
};

/** The parts of one kind that a message has, in the order of the record. */
export type PartsOf = (message: MessageRow, mapper: RecordMapper) => OpenObject[];

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

  skip(part: string | undefined, reason: string, detail?: string): undefined {
    const optional = { ...(part !== undefined && { part }), ...(detail !== undefined && { detail }) };
    this.#report.skip({ kind: this.#kind, id: this.#id, reason, ...optional });
  }

  /** The parts of a list of the record, which remember where they come from. Those that cannot be imported are undefined. */
  parts<R>(
    field: string,
    rows: readonly R[] = [],
    map: (row: R, path: string, index: number) => OpenObject | undefined,
  ) {
    return rows.flatMap((row, index): OpenObject[] => {
      const path = `${field}[${index}]`;
      const part = map(row, path, index);
      if (part === undefined) return [];
      this.#paths.set(part, path);
      return [part];
    });
  }

  /** The text in a cell, empty if it has none, without signatures of links. */
  readonly text = (cell: unknown): string => {
    const { text, count } = removeSignatures(typeof cell === 'string' ? cell : '', this.filesBase);
    if (count > 0) this.#report.count('signed links removed', count);
    return text;
  };

  textOrNull(cell: unknown): string | null {
    return typeof cell === 'string' ? this.text(cell) : null;
  }

  /** The value of a cell with JSON; undefined if it is empty or cannot be parsed. */
  json(cell: unknown, part: string): unknown {
    if (typeof cell !== 'string' || cell === '') return undefined;
    const parsed = parseJson(cell, this.text);
    if ('problem' in parsed) return this.skip(part, parsed.problem);
    if (parsed.hadNonFinite) this.skip(part, 'NaN or Infinity', 'replaced by null');
    if (parsed.hadLargeNumber) this.#report.count('cells with numbers kept as text');
    if (parsed.hadBadText) this.#report.count('cells with NUL or lone surrogates replaced');
    return parsed.value ?? undefined;
  }

  /** An object in a cell with JSON, or undefined. Another value is listed, unless it is empty. */
  object(cell: unknown, part: string): OpenObject | undefined {
    const value = this.json(cell, part);
    if (value === undefined || isObject(value)) return value;
    return Array.isArray(value) && value.length === 0 ? undefined : this.skip(part, 'not an object');
  }

  /** A list in a cell with JSON, or undefined. Another value is listed. */
  list(cell: unknown, part: string): unknown[] | undefined {
    const value = this.json(cell, part);
    return value === undefined || Array.isArray(value) ? value : this.skip(part, 'not a list');
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
        return this.skip(undefined, reason, text);
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
