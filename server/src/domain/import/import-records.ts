import { type LineValidator, validateInThread } from '../records/prepare-lines.ts';
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

/**
 * Imports records, all or nothing: everything is checked before anything is written, and the first bad line stops the
 * import. Memory use is bounded: the pending import spools checked records to disk. Returns the number of records, and of
 * the messages among them.
 */
export async function importRecords(
  store: Store,
  importer: Importer,
  sources: readonly RecordSource[],
  now: number,
  { validate = validateInThread, progress, rejectsErased = false }: ImportOptions = {},
): Promise<{ records: number; messages: number }> {
  const pending = await store.openImport();
  try {
    let [records, messages] = [0, 0];
    for await (const { failure, ...batch } of validate(readAll(sources), now)) {
      await checkReferences(pending, importer, batch.records);
      if (failure !== undefined) throw failure;
      await pending.add(batch);
      records += batch.records.length;
      messages += batch.records.filter(({ record }) => record === 'message').length;
      progress?.('checked', records);
    }
    await pending.apply({ key_id: importer.key_id, now, rejectsErased }, progress);
    return { records, messages };
  } finally {
    await pending.discard();
  }
}

async function* readAll(sources: readonly RecordSource[]): AsyncGenerator<Lines> {
  for (const source of sources) yield* readLines(source);
}
