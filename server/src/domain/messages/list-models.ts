import type { ModelType } from '../../contract/model.ts';
import type { Call } from '../call.ts';
import { joinTexts } from '../large-text.ts';
import { type JsonBody, renderBody } from '../render-list.ts';

/** The listing as JSON text. Entries are rendered when a provider is written, like messages. */
export const listModels = (call: Call<'app' | 'knowledge'>, model_type: ModelType): Promise<JsonBody> => {
  const { workspace_id } = call.caller;
  return renderBody(call.store, call.disconnected, async ({ apps }) => ({
    head: '{"data":[',
    tail: ']}',
    items: await apps.listModelEntries(workspace_id, model_type),
    render: (entries: readonly string[]) => joinTexts(entries, (entry) => entry),
  }));
};
