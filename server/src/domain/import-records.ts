import { checkReferences, type Importer } from './check-references.ts';
import { type RecordSource, readLines } from './read-lines.ts';
import type { ImportProgress, Store } from './store.ts';

/**
 * Takes records in, all or nothing: everything is checked before anything is written, and the first bad line stops it.
 * Memory stays flat: what is checked waits in the intake. Returns the number of records.
 */
export async function importRecords(
  store: Store,
  importer: Importer,
  sources: readonly RecordSource[],
  now: number,
  progress?: ImportProgress,
): Promise<number> {
  const intake = await store.openIntake();
  try {
    let count = 0;
    for (const source of sources) {
      for await (const { failure, ...batch } of intake.prepare(readLines(source), now)) {
        await checkReferences(intake, importer, batch.records);
        if (failure !== undefined) throw failure;
        await intake.add(batch);
        count += batch.records.length;
        progress?.('checked', count);
      }
    }
    await intake.apply({ key_id: importer.key_id, now }, progress);
    return count;
  } finally {
    await intake.discard();
  }
}
