import type { ModelType } from '../contract/model.ts';
import type { Store } from './store.ts';

/** The listing's JSON text: entries are rendered when a provider is written, as messages are. */
export async function listModels(store: Store, workspace_id: string, model_type: ModelType): Promise<string> {
  const entries = await store.findModelEntries(workspace_id, model_type);
  return `{"data":[${entries.join(',')}]}`;
}
