import type { RecordKind } from '../contract/record.ts';
import { conversationsOf, Tombstones } from '../domain/erasure/tombstones.ts';
import { BadRecord } from '../domain/errors.ts';
import { commandLine } from '../domain/import/check-references.ts';
import { importRecords } from '../domain/import/import-records.ts';
import type { PreparedLines } from '../domain/records/prepare-lines.ts';
import type { PreparedRecord } from '../domain/records/prepared-record.ts';
import { fieldOf, kindRules, type ReferableKind } from '../domain/records/record-kinds.ts';
import type { Store } from '../domain/store/store.ts';
import { IdSets } from './id-set.ts';
import { isValid } from './map/record-mapper.ts';
import {
  type Candidate,
  changedFields,
  deletedList,
  findStored,
  idOf,
  keepLocal,
  keyOf,
  prepare,
  type Stored,
  withoutEqual,
} from './merge.ts';
import { type KindCount, nowSeconds, type RecordInput, type Report } from './source.ts';
import type { SourceState } from './state.ts';

const batchRecords = 1_000;
const batchUnits = 4 * 1024 * 1024;

const erasedCount = 'records erased in Backscroll, and not imported again';

/** Kinds whose ids are not listed as coming from the source. */
const unlistedKinds: readonly RecordKind[] = ['workspace', 'message', 'model_provider'];

export type WriterOptions = {
  store: Store | undefined;
  state: SourceState;
  report: Report;
  /** What was changed in Backscroll is not kept. */
  isForced: boolean;
  isDry: boolean;
  clock: () => number;
  /** A dry run would have written this record. */
  onPlanned?: ((record: RecordInput) => void) | undefined;
};

/**
 * Writes records in batches. Records that are equal to the stored ones are not written, and what was changed in Backscroll is kept.
 * Without a store, or if `isDry`, nothing is written.
 */
export class Writer {
  readonly #options: WriterOptions;
  /** Ids that a dry run would have written. */
  readonly #planned: IdSets | undefined;
  readonly counts = new Map<RecordKind, KindCount>();
  #batch: RecordInput[] = [];
  #units = 0;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#planned = options.isDry ? new IdSets() : undefined;
  }

  get written(): number {
    return this.counts.values().reduce((sum, { written }) => sum + written, 0);
  }

  async add(record: RecordInput): Promise<void> {
    this.#batch.push(record);
    this.#units += unitsOf(record);
    if (this.#batch.length >= batchRecords || this.#units >= batchUnits) await this.flush();
  }

  async writeTogether(records: readonly RecordInput[]): Promise<void> {
    await this.flush();
    // They are read again by every sync.
    for (const { record } of records) this.#count(record).read = 0;
    this.#batch = [...records];
    await this.flush();
  }

  /** One import, all or nothing, apart from bad records. */
  async flush(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#units = 0;
    if (batch.length === 0) return;
    const tombstones = new Tombstones(
      (await this.#options.store?.erasure.findTombstones(conversationsOf(batch))) ?? [],
    );
    const stored = await findStored(this.#options, batch);
    const { changed, unchanged } = this.#findChanged(batch, stored, tombstones);
    const valid = await this.#withParents(changed, tombstones);
    for (const { input } of valid) this.#count(input.record).written += 1;
    for (const { record } of batch) this.#count(record).read += 1;
    if (this.#planned !== undefined) {
      for (const { input } of valid) {
        this.#options.onPlanned?.(input);
        this.#planned.add(input.record, [idOf(input)]);
      }
      return;
    }
    await this.#list(valid, unchanged, stored);
    await this.#unlist(batch, await this.#import(valid), stored);
  }

  close(): void {
    this.#planned?.close();
  }

  #count(kind: RecordKind): KindCount {
    const count = this.counts.get(kind) ?? { read: 0, written: 0 };
    this.counts.set(kind, count);
    return count;
  }

  /** Records that differ from the stored ones, with what was changed in Backscroll, and those that are stored already. */
  #findChanged(
    batch: readonly RecordInput[],
    stored: Stored,
    tombstones: Tombstones,
  ): { changed: Candidate[]; unchanged: RecordInput[] } {
    const now = nowSeconds(this.#options);
    const candidates: Candidate[] = [];
    const unchanged: RecordInput[] = [];
    for (const given of batch) {
      try {
        const storedRecord = stored.records.get(keyOf(given));
        if (storedRecord === undefined) {
          if (tombstones.has(given)) this.#options.report.count(erasedCount);
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

  /** Leaves out records whose parent is neither stored nor written before them. */
  async #withParents(candidates: readonly Candidate[], tombstones: Tombstones): Promise<Candidate[]> {
    const parents = candidates.flatMap(({ prepared }) => parentOf(prepared) ?? []);
    const existing = new Set<string>();
    for (const [kind, group] of Map.groupBy(parents, ({ kind }) => kind)) {
      const ids = [...new Set(group.map(({ id }) => id))];
      const targets = await this.#options.store?.lookup(kind, ids);
      for (const id of ids) if (targets?.has(id) || this.#planned?.has(kind, id)) existing.add(`${kind} ${id}`);
    }
    return candidates.filter(({ input, prepared }) => {
      const parent = parentOf(prepared);
      if (parent !== undefined && !existing.has(`${parent.kind} ${parent.id}`)) {
        if (prepared.record === 'message' && tombstones.hasConversation(parent.id))
          this.#options.report.count(erasedCount);
        else this.#skip(input, `its ${parent.kind} was not imported`);
        return false;
      }
      existing.add(keyOf(input));
      return true;
    });
  }

  /** Lists the ids before the records are written: no record of the source is ever unlisted. */
  async #list(candidates: readonly Candidate[], unchanged: readonly RecordInput[], { records }: Stored): Promise<void> {
    const inputs = candidates.map(({ input }) => input);
    for (const [kind, ids] of idsByKind([...inputs, ...unchanged]))
      if (!unlistedKinds.includes(kind)) await this.#options.state.addIds(kind, ids);
    // What was deleted in Backscroll before is not listed: it does not come back.
    const deleted = inputs.filter((input) => input.deleted === true && records.get(keyOf(input))?.deleted !== true);
    for (const [kind, ids] of idsByKind(deleted)) await this.#options.state.addIds(deletedList(kind), ids);
  }

  /** Records that are not deleted any more are unlisted after they are written: a run that is killed before writes them again. */
  async #unlist(batch: readonly RecordInput[], candidates: readonly Candidate[], stored: Stored): Promise<void> {
    const written = new Set(candidates.map(({ input }) => keyOf(input)));
    const present = batch.filter((given) => {
      const key = keyOf(given);
      const isStored = written.has(key) || stored.records.get(key)?.deleted === false;
      return stored.goneIds.has(idOf(given)) && given.deleted === false && isStored;
    });
    for (const [kind, ids] of idsByKind(present)) await this.#options.state.removeIds(deletedList(kind), ids);
  }

  /** A record that does not fit is left out and listed, and the others are imported again. Returns those that are stored. */
  async #import(candidates: readonly Candidate[]): Promise<readonly Candidate[]> {
    const { store } = this.#options;
    if (store === undefined) return [];
    let left = candidates;
    while (left.length > 0) {
      const batch = left;
      try {
        const validate = async function* (): AsyncGenerator<PreparedLines> {
          yield linesOf(batch);
        };
        await importRecords(store, commandLine, [], nowSeconds(this.#options), { validate, rejectsErased: true });
        return batch;
      } catch (error) {
        const bad = error instanceof BadRecord ? batch[error.line.number - 1] : undefined;
        if (!(error instanceof BadRecord) || bad === undefined) throw error;
        this.#skip(bad.input, error.problem.text);
        this.#count(bad.input.record).written -= 1;
        left = batch.filter((candidate) => candidate !== bad);
      }
    }
    return left;
  }

  #skip(input: RecordInput, problem: string): void {
    this.#options.report.skip({ kind: input.record, id: idOf(input), reason: problem });
  }
}

function parentOf(prepared: PreparedRecord): { kind: ReferableKind; id: string } | undefined {
  const { parent } = kindRules[prepared.record];
  const id = parent === null ? null : fieldOf(prepared, parent.field);
  return parent === null || id === null ? undefined : { kind: parent.kind as ReferableKind, id };
}

const idsByKind = (inputs: readonly RecordInput[]): [RecordKind, string[]][] =>
  [...Map.groupBy(inputs, ({ record }) => record)].map(([kind, group]) => [kind, group.map(idOf)]);

const unitsOf = (record: RecordInput): number =>
  Object.values(record)
    .map((value = null) => (typeof value === 'string' ? value : JSON.stringify(value)).length)
    .reduce((sum, units) => sum + units, 0);

/** Numbered from 1: an error names the line. */
function linesOf(candidates: readonly Candidate[]): PreparedLines {
  const records = candidates.map(({ prepared }, index) => ({ ...prepared, line: { number: index + 1 } }));
  const texts = Buffer.from(candidates.map(({ text }) => text ?? '').join(''));
  return { records, texts };
}
