import { createHash, randomUUID } from 'node:crypto';
import { personId } from '../../src/domain/author.ts';
import { tables } from './api-tables.ts';
import type { Tenant } from './harness.ts';

type Json = Record<string, unknown>;

export function newPerson(): Json {
  const person = { issuer: 'https://id.example', subject: randomUUID() };
  return { id: personId(person), ...person };
}

/** A value of a row of the tables of the API document. */
function exampleValue(row: string, text: string): unknown {
  const [, list, kind = '', note = ''] = /^(\[)?(\w+)\]?\??(?: (.+))?$/.exec(row) ?? [];
  const values: Record<string, unknown> = {
    ...{ string: text, integer: 12, number: 1.25, boolean: true, any: ['vision'] },
    ...{ open: { [text]: text, nested: { list: [1, null, true] } }, map: { en_US: text, zh_Hans: '标签' } },
    ...{ uuid: randomUUID(), decimal: '0.0001200' },
  };
  const one = note.includes('|') ? note.split('|')[0] : (values[note] ?? values[kind] ?? exampleOf(kind, text));
  return list === undefined ? one : [one];
}

// biome-ignore lint/suspicious/noExplicitAny: tests read records freely
type Example = Record<string, any>;
/** An object with every field of a table, nested ones too, and this text in each that is text. */
export const exampleOf = (table: string, text = 'Text'): Example =>
  Object.fromEntries(Object.entries(tables[table] ?? {}).map(([name, row]) => [name, exampleValue(row, text)]));

/** One complete record of every kind, each with its own ids. */
export function completeRecords({ ids, keyIds }: Tenant) {
  const { tenant_id: _, ...provider } = exampleOf('ModelProvider');
  return {
    workspace: { record: 'workspace', id: randomUUID(), name: 'Workspace' },
    app: {
      record: 'app',
      id: randomUUID(),
      workspace_id: ids.workspace,
      name: 'App',
      mode: 'advanced-chat',
      retention_days: 30,
      description: 'Text',
      parameters: { opening_statement: 'Hello' },
      site: { title: 'Title' },
    },
    api_key: {
      record: 'api_key',
      id: randomUUID(),
      kind: 'knowledge',
      workspace_id: ids.workspace,
      dataset_ids: [ids.dataset],
      name: 'Key',
      digest: createHash('sha256').update(`dataset-${randomUUID()}`).digest('hex'),
      created_at: 1_600_000_001,
      expires_at: 4_000_000_000,
      revoked_at: 1_600_000_002,
      read_only: true,
      role: null,
    },
    person: { record: 'person', ...newPerson(), name: 'Ann', email: 'ann@example.com', role: 'editor', blocked: true },
    conversation: {
      record: 'conversation',
      id: randomUUID(),
      app_id: ids.app,
      user: 'bob',
      created_at: 1_600_000_000,
      deleted: true,
      hold: true,
      name: 'Name',
      inputs: { city: 'Oslo' },
      introduction: 'Hello',
      renamed_at: 1_600_000_003,
      updated_at: 1_600_000_004,
    },
    message: {
      ...exampleOf('Message'),
      ...{ record: 'message', id: randomUUID(), conversation_id: ids.conversation },
      ...{ status: 'error', created_at: 1_600_000_000, message_tokens: 3, answer_tokens: 4, total_tokens: 7 },
      feedback_content: 'Thanks',
      rated_at: 1_600_000_010,
      model_provider: 'harbour/lantern/lantern',
      model: 'lantern-large',
      trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
      items: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }, { any: null }],
    } as Example,
    dataset: {
      record: 'dataset',
      id: randomUUID(),
      workspace_id: ids.workspace,
      name: 'Dataset',
      description: 'About it',
      indexing_technique: 'high_quality',
      embedding_model: 'embed',
      embedding_model_provider: 'acme/acme/one',
      doc_form: 'hierarchical_model',
      data_source_type: 'upload_file',
      tags: [{ id: randomUUID(), name: 'Tag', type: 'knowledge' }],
      created_at: 1_600_000_000,
      updated_at: 1_600_000_001,
      settings: { retrieval_model_dict: { top_k: 5 } },
    },
    document: {
      record: 'document',
      id: randomUUID(),
      dataset_id: ids.dataset,
      name: 'Document',
      position: 5,
      created_at: 1_600_000_000,
      updated_at: 1_600_000_001,
      enabled: false,
      archived: true,
      indexing_status: 'parsing',
      doc_form: 'hierarchical_model',
      doc_language: 'English',
      data_source_type: 'upload_file',
      data_source_info: { upload_file_id: 'f' },
      tokens: 3,
      doc_metadata: [{ id: 'm', name: 'author', type: 'string', value: 'A' }],
      created_by: 'Someone',
      disabled_at: 1_600_000_002,
    },
    segment: {
      record: 'segment',
      id: randomUUID(),
      document_id: ids.document,
      position: 2,
      content: 'Segment',
      answer: 'Answer',
      keywords: ['one'],
      enabled: false,
      status: 'indexing',
      tokens: 3,
      hit_count: 4,
      index_node_id: 'Node',
      index_node_hash: 'hash',
      created_at: 1_600_000_000,
      updated_at: 1_600_000_001,
      created_by: 'Someone',
      disabled_at: 1_600_000_002,
    },
    child_chunk: {
      record: 'child_chunk',
      id: randomUUID(),
      segment_id: ids.segment,
      content: 'An open-source platform.',
      position: 2,
      word_count: 17,
      type: 'customized',
      created_at: 1_600_000_000,
      updated_at: 1_600_000_009,
      deleted: true,
      index_node_id: 'Node',
    },
    child_chunk_revision: {
      record: 'child_chunk_revision',
      child_chunk_id: ids.chunk,
      revision: 1,
      content: 'Earlier',
      replaced_at: 1_600_000_000,
      key_id: keyIds.knowledge,
      person_id: null,
      review_message_id: ids.conversation,
    },
    model_provider: {
      record: 'model_provider',
      workspace_id: ids.workspace,
      ...provider,
      provider: 'acme/acme/one',
    } as Example,
  } satisfies Record<string, Json>;
}
