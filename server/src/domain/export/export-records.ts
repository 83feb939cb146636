import { listReads } from '../activity/list-reads.ts';
import { invalidParam, notFound } from '../errors.ts';
import type { LargeText } from '../large-text.ts';
import { readAll } from '../paging.ts';
import type { SelectedMessage } from '../store/selection.ts';
import { type ExportSelection, isRestricted, restrictedKinds, type Selection } from '../store/selection.ts';
import type { Store } from '../store/store.ts';
import { csvHeader, csvRow } from './csv.ts';

/**
 * Lines of the selected records. Throws before the first line if the selection names something that does not exist. `withReads`:
 * also who has read what the selected user said.
 */
export async function exportRecords(
  store: Store,
  selection: ExportSelection,
  signal: AbortSignal,
  withReads = false,
): Promise<LargeText> {
  if (withReads && selection.user === undefined) throw invalidParam('reads requires user');
  if (!isRestricted(selection)) return store.exports.all(selection.kinds, signal);
  const kinds = restrictedKinds(selection);
  await requireSelected(store, selection);
  const records = await store.exports.selected(selection, kinds, signal);
  return withReads ? { chunks: linesWithReads(store, selection, records), close: records.close } : records;
}

async function* linesWithReads(
  store: Store,
  { app_id, user = '' }: Selection,
  { chunks }: LargeText,
): AsyncGenerator<Uint8Array> {
  yield* chunks;
  const reads = await readAll((page) => listReads(store, { ...page, user, ...(app_id && { app_id }) }));
  yield Buffer.from(reads.map((read) => `${JSON.stringify({ read })}\n`).join(''));
}

/** One row for each selected message, after a header. */
export async function exportCsv(store: Store, selection: Selection, signal: AbortSignal): Promise<LargeText> {
  await requireSelected(store, selection);
  const { chunks, close } = await store.exports.messages(selection, signal);
  return { chunks: csvLines(chunks), close };
}

async function* csvLines(parts: AsyncIterable<SelectedMessage[]>): AsyncGenerator<Uint8Array> {
  yield Buffer.from(csvHeader);
  for await (const messages of parts) yield Buffer.from(messages.map(csvRow).join(''));
}

async function requireSelected(store: Store, { app_id, conversation_id }: Selection): Promise<void> {
  if (app_id !== undefined && (await store.lookup('app', [app_id])).size === 0) throw notFound('app not found');
  if (conversation_id === undefined) return;
  const conversation = (await store.lookup('conversation', [conversation_id])).get(conversation_id);
  const isOfApp = app_id === undefined || conversation?.parent === app_id;
  if (conversation === undefined || !isOfApp) throw notFound('conversation not exists');
}
