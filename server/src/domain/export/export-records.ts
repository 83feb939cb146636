import { notFound } from '../errors.ts';
import { type ExportSelection, isRestricted, restrictedKinds, type Selection } from '../store/selection.ts';
import type { Store } from '../store/store.ts';
import { csvHeader, csvRow } from './csv.ts';

/** Lines of the selected records. Throws before the first line if the selection names something that does not exist. */
export async function exportRecords(store: Store, selection: ExportSelection): Promise<AsyncIterable<Uint8Array>> {
  if (!isRestricted(selection)) return store.exports.all(selection.kinds);
  const kinds = restrictedKinds(selection);
  await requireSelected(store, selection);
  return store.exports.selected(selection, kinds);
}

/** One row for each selected message, after a header. */
export async function exportCsv(store: Store, selection: Selection): Promise<AsyncIterable<Uint8Array>> {
  await requireSelected(store, selection);
  return csvLines(store, selection);
}

async function* csvLines(store: Store, selection: Selection): AsyncGenerator<Uint8Array> {
  yield Buffer.from(csvHeader);
  for await (const messages of store.exports.messages(selection)) yield Buffer.from(messages.map(csvRow).join(''));
}

async function requireSelected(store: Store, { app_id, conversation_id }: Selection): Promise<void> {
  if (app_id !== undefined && (await store.lookup('app', [app_id])).size === 0) throw notFound('app not found');
  if (conversation_id === undefined) return;
  const conversation = (await store.lookup('conversation', [conversation_id])).get(conversation_id);
  const isOfApp = app_id === undefined || conversation?.parent === app_id;
  if (conversation === undefined || !isOfApp) throw notFound('conversation not exists');
}
