import type { ModelType } from '../../contract/model.ts';
import { joinTexts } from '../large-text.ts';
import { type JsonBody, renderList } from '../render-list.ts';
import type { ListReads, Store } from '../store/store.ts';

/** The listing as JSON text. Entries are rendered when a provider is written, like messages. */
export async function listModels(
  store: Store,
  workspace_id: string,
  model_type: ModelType,
  disconnected: () => AbortSignal,
): Promise<JsonBody> {
  const find = async ({ apps }: ListReads) => ({
    head: '{"data":[',
    tail: ']}',
    items: await apps.listModelEntries(workspace_id, model_type),
    readRow: (position: number) => apps.readModelEntry(workspace_id, model_type, position),
    render: (entries: readonly string[]) => joinTexts(entries, (entry) => entry),
  });
  return (await renderList(store, find, disconnected)).body;
}
