import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { makeTwoTenants, message, ndjson } from '../../server/test/support/harness.ts';

export type LargeFixture = Omit<ReturnType<typeof makeTwoTenants>, 'records'> & {
  conversation: string;
  /** A message with a large item. */
  message: string;
  text: string;
};

/** In every text, so that an engine for JavaScript stores two bytes for each character. */
const wideCharacter = '\u{1F600}';
const appendedMessages = 8;
/** The console's lists end early, so a few are enough. */
const shortListCount = 10;

/** Messages of one append. */
export const largeMessages = ({ conversation, text }: LargeFixture): string =>
  ndjson(Array.from({ length: appendedMessages }, (_, at) => message(conversation, at, { answer: text })));

/**
 * Writes records of each kind whose texts have about `bytes`: `count` of those that a page may have as a whole. Feedback is large
 * in another conversation than messages.
 */
export async function writeLargeRecords(file: string, count: number, bytes: number): Promise<LargeFixture> {
  const { records, ...tenants } = makeTwoTenants();
  const { ids } = tenants.one;
  const { app: app_id, workspace: workspace_id, dataset: dataset_id, document: document_id, segment: segment_id } = ids;
  const text = `${wideCharacter} ${'. '.repeat(bytes / 2)}`;
  const [rated, withItem] = [randomUUID(), randomUUID()];
  const label = { en_US: 'label' };
  const model = {
    ...{ model: 'model', label, model_type: 'llm', features: null, fetch_from: 'predefined-model', status: 'active' },
    ...{ model_properties: { text }, deprecated: false, load_balancing_enabled: false },
    has_invalid_load_balancing_configs: false,
  };
  const provider = { workspace_id, label, icon_small: label, icon_small_dark: null, status: 'active', models: [model] };
  const bob = { app_id, user: 'bob', created_at: 1 };
  const output = createWriteStream(file);
  const write = async (record: string, times: number, fieldsOf: (at: number) => object) => {
    for (let at = 0; at < times; at += 1)
      if (!output.write(ndjson([{ record, ...fieldsOf(at) }]))) await once(output, 'drain');
  };
  output.write(ndjson(records));
  await write('app', 1, () => ({ id: app_id, workspace_id, name: 'app', mode: 'chat', parameters: { text } }));
  await write('conversation', 1, () => ({ ...bob, id: rated }));
  await write('workspace', shortListCount, (at) => ({ id: `workspace-${at}`, name: text }));
  await write('app', shortListCount, (at) => ({ id: `app-${at}`, workspace_id, name: text, mode: 'chat' }));
  await write('api_key', shortListCount, (at) => ({
    ...{ kind: 'app', workspace_id, app_id, name: text, digest: `${at}`.padStart(64, '0') },
  }));
  await write('conversation', shortListCount, (at) => ({ ...bob, id: randomUUID(), app_id: 'app-0', user: text + at }));
  await write('conversation', count, () => ({ ...bob, id: randomUUID(), inputs: { text } }));
  await write('message', count, (at) => message(ids.conversation, at, { answer: text }));
  const items = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }];
  await write('message', count, (at) => message(ids.conversation, at, { items, ...(at === 0 && { id: withItem }) }));
  const now = Math.floor(Date.now() / 1000);
  const feedback = { feedback: { rating: 'dislike' }, feedback_content: text };
  await write('message', count, (at) => message(rated, now - at, feedback));
  const done = { state: 'done', expected_answer: 'a' };
  await write('review', 1, () => ({ ...done, app_id, conversation_id: ids.conversation, message_id: withItem }));
  await write('model_provider', count, (at) => ({ ...provider, provider: `provider-${at}` }));
  const settings = { external_retrieval_model: { text } };
  await write('dataset', count, (at) => ({ id: randomUUID(), workspace_id, name: 'large', settings, created_at: at }));
  const data_source_info = { text };
  await write('document', count, () => ({ id: randomUUID(), dataset_id, name: 'large', data_source_info }));
  await write('segment', count, (at) => ({ id: randomUUID(), document_id, position: at + 2, content: text }));
  await write('child_chunk', count, (at) => ({ id: randomUUID(), segment_id, position: at + 2, content: text }));
  await write('child_chunk_revision', shortListCount, (at) => ({
    ...{ child_chunk_id: ids.chunk, revision: at + 1, content: text, replaced_at: at, key_id: null },
  }));
  output.end();
  await once(output, 'close');
  return { ...tenants, conversation: ids.conversation, message: withItem, text };
}
