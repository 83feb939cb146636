import type { ModelType } from '../../contract/model.ts';
import type { Store } from '../store/store.ts';

/** The listing as JSON text. Entries are rendered when a provider is written, like messages. */
export async function listModels(store: Store, workspace_id: string, model_type: ModelType): Promise<string> {
  const entries = await store.findModelEntries(workspace_id, model_type);
  return `{"data":[${entries.join(',')}]}`;
}
