import type { RecordKind } from '../contract/record.ts';
import { conversationsOf, Tombstones } from '../domain/erasure/tombstones.ts';
import { BadRecord } from '../domain/errors.ts';
import { commandLine } from '../domain/import/check-references.ts';
import { importRecords } from '../domain/import/import-records.ts';
import type { PreparedLines } from '../domain/records/prepare-lines.ts';
import { fieldOf, kindRules, type ReferableKind } from '../domain/records/record-kinds.ts';
import type { StoredRecord } from '../domain/store/import-sources.ts';
import type { Store } from '../domain/store/store.ts';
import { IdSets } from './id-set.ts';
import { isValid } from './map/record-mapper.ts';
import { type Candidate, changedFields, keepLocal, prepare, withoutEqual } from './merge.ts';
import type { RecordInput, Report } from './source.ts';

const batchRecords = 1_000;
const batchUnits = 4 * 1024 * 1024;

/** Whether records with these texts are written at once, with room for their other fields. */
export const isOneBatch = (records: number, textUnits: number): boolean =>
  records <= batchRecords / 10 && textUnits <= batchUnits / 10;

const erasedCount = 'records erased in Backscroll, and not imported again';

/** Kinds whose ids are listed as coming from the source. */
const listedKinds: readonly RecordKind[] = [
  'app',
  'api_key',
  'conversation',
  'dataset',
  'document',
  'segment',
  'child_chunk',
];

/** The list of records of a kind that an import has deleted, because the source had deleted them. */
export const deletedList = (kind: string): string => `deleted ${kind}`;

/** Records of a kind that were read, and those of them that were written. */
export type KindCount = { read: number; written: number };

type WriterOptions = {
  isForced: boolean;
  isDry: boolean;
  clock: () => number;
  /** A dry run would have written this record. */
  onPlanned: (record: RecordInput) => void;
};

/**
 * Writes records in batches. Records that are equal to the stored ones are not written, and what was changed in Backscroll is kept.
 * Without a store, or if `isDry`, nothing is written.
 */
export class Writer {
  readonly #store: Store | undefined;
  readonly #source: string;
  readonly #report: Report;
  readonly #isForced: boolean;
  readonly #isDry: boolean;
  readonly #clock: () => number;
  /** Ids that a dry run would have written. */
  readonly #planned: IdSets | undefined;
  readonly #onPlanned: (record: RecordInput) => void;
  readonly counts = new Map<RecordKind, KindCount>();
  #batch: RecordInput[] = [];
  #units = 0;

  constructor(
    store: Store | undefined,
    source: string,
    report: Report,
    { isForced, isDry, clock, onPlanned }: WriterOptions,
  ) {
    this.#store = store;
    this.#source = source;
    this.#report = report;
    this.#isForced = isForced;
    this.#isDry = isDry;
    this.#clock = clock;
    this.#planned = isDry ? new IdSets() : undefined;
    this.#onPlanned = onPlanned;
  }

  get written(): number {
    return this.counts.values().reduce((sum, { written }) => sum + written, 0);
  }

  /** Flushes when the batch is full. Parents come before their children. */
  async add(record: RecordInput): Promise<void> {
    this.#batch.push(record);
    this.#units += unitsOf(record);
    if (this.#batch.length >= batchRecords || this.#units >= batchUnits) await this.flush();
  }

  /** Writes records of any number as one import. */
  async writeTogether(records: readonly RecordInput[]): Promise<void> {
    await this.flush();
    // They are read again by every sync.
    for (const { record } of records) this.#count(record).read = 0;
    this.#batch = [...records];
    await this.flush();
  }

  /** Everything that was added is stored when this resolves. One import, all or nothing, apart from bad records. */
  async flush(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#units = 0;
    if (batch.length === 0) return;
    const tombstones = new Tombstones((await this.#store?.erasure.findTombstones(conversationsOf(batch))) ?? []);
    const { changed, unchanged } = await this.#findChanged(batch, tombstones);
    const valid = await this.#withParents(changed, tombstones);
    for (const { input } of valid) this.#count(input.record).written += 1;
    for (const { record } of batch) this.#count(record).read += 1;
    if (this.#isDry) {
      for (const { input, prepared } of valid) {
        this.#onPlanned(input);
        if (isReferable(prepared)) this.#planned?.add(prepared.record, [prepared.id]);
      }
      return;
    }
    await this.#list(valid, unchanged);
    await this.#import(valid);
  }

  close(): void {
    this.#planned?.close();
  }

  #count(kind: RecordKind): KindCount {
    let count = this.counts.get(kind);
    if (count === undefined) this.counts.set(kind, (count = { read: 0, written: 0 }));
    return count;
  }

  /** Records that differ from the stored ones, with what was changed in Backscroll, and those that are stored already. */
  async #findChanged(
    batch: readonly RecordInput[],
    tombstones: Tombstones,
  ): Promise<{ changed: Candidate[]; unchanged: RecordInput[] }> {
    const now = this.#now();
    const stored = await this.#findStored(batch);
    const candidates: Candidate[] = [];
    const unchanged: RecordInput[] = [];
    for (const given of batch) {
      try {
        const storedRecord = stored.records.get(keyOf(given.record, idOf(given)));
        if (storedRecord === undefined) {
          if (tombstones.has(given)) this.#report.count(erasedCount);
          else candidates.push(prepare(given, now, isValid(given)));
          continue;
        }
        const input = keepLocal(given, storedRecord, stored);
        // Stored values are valid, and so is a record without fields that it may omit.
        const changed = input && changedFields(prepare(input, now, isValid(given)), storedRecord);
        if (input === undefined || changed === undefined || changed.length === 0) unchanged.push(given);
        else candidates.push(prepare(withoutEqual(input, changed), now, true));
      } catch (error) {
        if (!(error instanceof BadRecord)) throw error;
        this.#skip(given, error.problem.text);
      }
    }
    return { changed: candidates, unchanged };
  }

  async #findStored(batch: readonly RecordInput[]) {
    const records = new Map<string, StoredRecord>();
    const editedChunks = new Set<string>();
    const goneIds = new Set<string>();
    const isForced = this.#isForced;
    const imports = this.#store?.imports;
    if (imports === undefined) return { records, editedChunks, goneIds, isForced };
    for (const [kind, group] of Map.groupBy(batch, ({ record }) => record)) {
      const conversations =
        kind === 'message' ? [...new Set(group.map(({ conversation_id }) => conversation_id as string))] : undefined;
      const storedOfKind = await imports.findRecords(kind, group.map(idOf), conversations);
      for (const [id, record] of storedOfKind) records.set(keyOf(kind, id), record);
      const deleted = [...storedOfKind].filter(([, record]) => record.deleted === true).map(([id]) => id);
      if (deleted.length > 0) {
        for (const id of await imports.findIds(this.#source, deletedList(kind), deleted)) goneIds.add(id);
      }
      if (kind === 'child_chunk') {
        for (const id of await imports.findEdited([...storedOfKind.keys()])) editedChunks.add(id);
      }
    }
    return { records, editedChunks, goneIds, isForced };
  }

  /** Leaves out records whose parent is neither stored nor written before them. */
  async #withParents(candidates: readonly Candidate[], tombstones: Tombstones): Promise<Candidate[]> {
    const idsByKind = new Map<ReferableKind, Set<string>>();
    for (const { prepared } of candidates) {
      const { parent } = kindRules[prepared.record];
      const id = parent === null ? null : fieldOf(prepared, parent.field);
      if (parent === null || id === null) continue;
      const kind = parent.kind as ReferableKind;
      idsByKind.set(kind, (idsByKind.get(kind) ?? new Set()).add(id));
    }
    const existing = new Set<string>();
    for (const [kind, ids] of idsByKind) {
      const targets = await this.#store?.lookup(kind, [...ids]);
      for (const id of targets?.keys() ?? []) existing.add(keyOf(kind, id));
      for (const id of ids) if (this.#planned?.has(kind, id)) existing.add(keyOf(kind, id));
    }
    return candidates.filter(({ input, prepared }) => {
      const { parent } = kindRules[prepared.record];
      const id = parent === null ? null : fieldOf(prepared, parent.field);
      if (parent !== null && id !== null && !existing.has(keyOf(parent.kind, id))) {
        if (prepared.record === 'message' && tombstones.hasConversation(id)) this.#report.count(erasedCount);
        else this.#skip(input, `its ${parent.kind} was not imported`);
        return false;
      }
      if (isReferable(prepared)) existing.add(keyOf(prepared.record, prepared.id));
      return true;
    });
  }

  /** Lists the ids before the records are written: no record of the source is ever unlisted. */
  async #list(candidates: readonly Candidate[], unchanged: readonly RecordInput[]): Promise<void> {
    const imports = this.#store?.imports;
    const inputs = candidates.map(({ input }) => input);
    for (const [kind, group] of Map.groupBy([...inputs, ...unchanged], ({ record }) => record)) {
      if (listedKinds.includes(kind)) await imports?.addIds(this.#source, kind, group.map(idOf));
    }
    const undeleted = inputs.filter((input) => 'deleted' in input && input.deleted === false);
    for (const [kind, group] of Map.groupBy(undeleted, ({ record }) => record)) {
      const goneIds = await imports?.findIds(this.#source, deletedList(kind), group.map(idOf));
      await imports?.removeIds(this.#source, deletedList(kind), [...(goneIds ?? [])]);
    }
  }

  /** A record that does not fit is left out and listed, and the others are imported again. */
  async #import(candidates: readonly Candidate[]): Promise<void> {
    const store = this.#store;
    if (store === undefined) return;
    let left = candidates;
    while (left.length > 0) {
      const batch = left;
      try {
        const validate = async function* (): AsyncGenerator<PreparedLines> {
          yield linesOf(batch);
        };
        await importRecords(store, commandLine, [], this.#now(), { validate, rejectsErased: true });
        return;
      } catch (error) {
        const bad = error instanceof BadRecord ? batch[error.line.number - 1] : undefined;
        if (!(error instanceof BadRecord) || bad === undefined) throw error;
        this.#skip(bad.input, error.problem.text);
        this.#count(bad.input.record).written -= 1;
        left = batch.filter((candidate) => candidate !== bad);
      }
    }
  }

  #now(): number {
    return Math.floor(this.#clock() / 1000);
  }

  #skip(input: RecordInput, problem: string): void {
    this.#report.skip({ kind: input.record, id: idOf(input), reason: problem });
  }
}

const keyOf = (kind: string, id: string): string => `${kind} ${id}`;
const idOf = ({ record, id, workspace_id, provider }: RecordInput): string =>
  record === 'model_provider' ? `${workspace_id}/${provider}` : (id as string);

const isReferable = (record: object): record is { record: ReferableKind; id: string } =>
  'id' in record && typeof record.id === 'string';

/** The approximate size of a record. */
function unitsOf(record: RecordInput): number {
  let units = 0;
  for (const value of Object.values(record)) {
    if (typeof value === 'string') units += value.length;
    else if (typeof value === 'object' && value !== null) units += JSON.stringify(value).length;
    else units += 8;
  }
  return units;
}

/** Numbered from 1: an error names the line. */
function linesOf(candidates: readonly Candidate[]): PreparedLines {
  const records = candidates.map(({ prepared }, index) => ({ ...prepared, line: { number: index + 1 } }));
  const texts = Buffer.from(candidates.map(({ text }) => text ?? '').join(''));
  return { records, texts };
}
