import { conversationsOf, Tombstones } from '../erasure/tombstones.ts';
import { type LineValidator, validateInThread } from '../records/prepare-lines.ts';
import type { PreparedRecord } from '../records/prepared-record.ts';
import { type Lines, type RecordSource, readLines } from '../records/read-lines.ts';
import type { ImportProgress, Store } from '../store/store.ts';
import { checkReferences, type Importer } from './check-references.ts';

export type ImportOptions = {
  /** Default: in this thread. Several threads validate large inputs faster. */
  validate?: LineValidator;
  progress?: ImportProgress | undefined;
  /** See `Author`. */
  rejectsErased?: boolean;
};

/** Records that were erased here before, and when the last of them was. */
export type ErasedBefore = { records: number; last_at: number };

/**
 * Imports records, all or nothing: everything is checked before anything is written, and the first bad line stops the
 * import. Memory use is bounded: the pending import spools checked records to disk. Returns the number of records, of
 * the messages among them, and what was erased before: a chat back end sends that on purpose, an old export may not.
 */
export async function importRecords(
  store: Store,
  importer: Importer,
  sources: readonly RecordSource[],
  now: number,
  { validate = validateInThread, progress, rejectsErased = false }: ImportOptions = {},
): Promise<{ records: number; messages: number; erased: ErasedBefore | undefined }> {
  const pending = await store.openImport();
  try {
    let [records, messages] = [0, 0];
    const erasedAt: number[] = [];
    const isAsked = importer.kind === 'admin' && !rejectsErased;
    for await (const { failure, ...batch } of validate(readAll(sources), now)) {
      await checkReferences(pending, importer, batch.records);
      if (failure !== undefined) throw failure;
      if (isAsked) erasedAt.push(...(await findErasures(store, batch.records)));
      await pending.add(batch);
      records += batch.records.length;
      messages += batch.records.filter(({ record }) => record === 'message').length;
      progress?.('checked', records);
    }
    await pending.apply({ key_id: importer.key_id, now, rejectsErased }, progress);
    const last_at = erasedAt.reduce((last, at) => Math.max(last, at), 0);
    return { records, messages, erased: erasedAt.length === 0 ? undefined : { records: erasedAt.length, last_at } };
  } finally {
    await pending.discard();
  }
}

/** When those of the records that were erased before were. */
async function findErasures({ erasure }: Store, records: readonly PreparedRecord[]): Promise<number[]> {
  const ids = conversationsOf(records);
  const tombstones = new Tombstones(ids.length === 0 ? [] : await erasure.findTombstones(ids));
  return records.flatMap((record) => tombstones.timeOf(record) ?? []);
}

async function* readAll(sources: readonly RecordSource[]): AsyncGenerator<Lines> {
  for (const source of sources) yield* readLines(source);
}
