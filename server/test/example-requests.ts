import type { Secrets } from '../src/cli/starter.ts';
import type { KeyKind } from '../src/contract/record.ts';

/** A request that shows what an operation does, on the starter records. */
export type ExampleRequest = {
  /** The kind of key it is sent with; none where the operation takes none. */
  key?: KeyKind;
  parameters?: Record<string, string | number>;
  /** An object is sent as JSON, a text as it is. */
  body?: unknown;
};

const conversation_id = 'abde975c-1f8d-4221-9ba1-35bb1bcee975';
const app_id = '3ccf2629-6bc4-4b26-9774-7084d2d1a2c9';
const chunk = {
  dataset_id: '99c3347d-f3ad-4d0e-8b28-833bdfae48c2',
  document_id: '5472522e-dd15-42d1-b208-958d8ab250ed',
  segment_id: '53d0cc2f-b5e4-4d62-93e3-09a263bd539b',
  child_chunk_id: '7f25d0b8-1c2b-46cc-bbaf-08268ca9c5c0',
};
const edit = { content: 'Grind a little finer when the shot runs too fast.' };
const said = [
  { record: 'conversation', id: '6f0c7a0e-54f0-4f4e-8a0f-0c1f6f6a2b61', app_id, user: 'visitor-1' },
  {
    record: 'message',
    id: '0c5f1f43-2c8b-4f0b-9a35-7a3f0d0d5c62',
    conversation_id: '6f0c7a0e-54f0-4f4e-8a0f-0c1f6f6a2b61',
    query: 'Do you ship on Saturdays?',
    answer: 'Yes, orders until noon leave the same day.',
  },
];

/**
 * By the operation's id, in the order they are sent: what an earlier one wrote, a later one shows. Every operation that
 * answers with JSON is here; a test says which one is missing.
 */
export const exampleRequests = (_secrets: Secrets): Record<string, ExampleRequest> => ({
  getConversationHistory: { key: 'app', parameters: { conversation_id, limit: 1 } },
  getChildChunk: { key: 'knowledge', parameters: chunk },
  updateChildChunk: { key: 'knowledge', parameters: chunk, body: edit },
  getAvailableModels: { key: 'app', parameters: { model_type: 'text-embedding' } },
  importRecords: { key: 'writer', body: said.map((record) => `${JSON.stringify(record)}\n`).join('') },
  live: {},
  ready: {},
});
