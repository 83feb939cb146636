import type { KeyKind } from '../../src/contract/key-kinds.ts';
import { personId } from '../../src/domain/author.ts';

/** Recorded by `npm run openapi`; a test sends the requests again and compares. */
export const examplesFile = new URL('../../starter/examples.json', import.meta.url);
/** An example of each kind of record, copied from docs/use/records.md by `npm run openapi`. */
export const recordExamplesFile = new URL('../../starter/record-examples.json', import.meta.url);

/** Parameters of a request. A list is a repeated parameter. */
export type ExampleParameters = Record<string, string | number | readonly string[]>;
/** A request with its response, if that has a body. */
export type Example = { parameters: ExampleParameters; body?: unknown; status: number; response?: unknown };
/** By operation id. */
export type Examples = Record<string, Example>;

/** A request on the starter records that shows what an operation does. */
export type ExampleRequest = {
  /** The kind of key it is sent with; absent where the operation requires none. */
  key?: KeyKind;
  parameters?: ExampleParameters;
  /** An object is sent as JSON, a string as it is. */
  body?: unknown;
  /** Whether it comes from the console, with the cookie of its session. */
  isSignedIn?: boolean;
  /** Whether the response is an error. */
  fails?: boolean;
  /** Seconds by which the clock advances before it is sent. */
  after?: number;
  /** Replaces values that differ between runs by fixed ones, and shortens a long response. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses freely
  normalize?: (response: any) => unknown;
};

const conversation_id = 'abde975c-1f8d-4221-9ba1-35bb1bcee975';
const message_id = 'c0130a53-bcce-426b-9daa-4ba5ce459454';
const firstMessageId = 'b44602a6-d201-4af3-b90b-0e27d51b9d17';
const openaiId = `conv_${conversation_id.replaceAll('-', '')}`;
const openaiItemId = `msg_${message_id.replaceAll('-', '')}_0`;
const newItemId = 'msg_2f1c6f0e7f0c4a538c115a0b6c1d7e07_0';
const app_id = '3ccf2629-6bc4-4b26-9774-7084d2d1a2c9';
const chunk = {
  dataset_id: '99c3347d-f3ad-4d0e-8b28-833bdfae48c2',
  document_id: '5472522e-dd15-42d1-b208-958d8ab250ed',
  segment_id: '53d0cc2f-b5e4-4d62-93e3-09a263bd539b',
  child_chunk_id: '7f25d0b8-1c2b-46cc-bbaf-08268ca9c5c0',
};
const { child_chunk_id: _, ...segment } = chunk;
const { segment_id: __, ...document } = segment;
const workspace_id = 'f2ea4643-6eeb-4dc8-8414-6734b1461808';
const edit = { content: 'Grind a little finer when the shot runs too fast.' };
const newRecords = [
  { record: 'conversation', id: '6f0c7a0e-54f0-4f4e-8a0f-0c1f6f6a2b61', app_id, user: 'visitor-1' },
  {
    record: 'message',
    id: '0c5f1f43-2c8b-4f0b-9a35-7a3f0d0d5c62',
    conversation_id: '6f0c7a0e-54f0-4f4e-8a0f-0c1f6f6a2b61',
    query: 'Do you ship on Saturdays?',
    answer: 'Yes, orders until noon leave the same day.',
  },
];

/** A person who signed in by name. */
export const examplePerson = { issuer: 'https://id.example.com', subject: '3f0c2c1e' };
const person_id = personId(examplePerson);

/** Reads are noted after their responses. */
const exampleReads = {
  limit: 20,
  has_more: false,
  data: [
    {
      ...{ id: 'a80f7cb6f2b4b8f3a8d6c8d0e6f1b7a9', at: 1_793_822_400, key_id: null, key_name: null },
      ...{ person_id, person_name: 'Ann', operation: 'getTranscript', app_id, app_name: 'Coffee machine support' },
      ...{ conversation_id, user: 'visitor-204', words: null },
    },
  ],
  next_cursor: null,
};

/** The id of an entry of the audit log. */
const exampleEntry = '0mwiui8110000-psHyRXUXstGH2aAZXChufg';

/** Ids of the service's keys. They are fixed here, so that they are the same in every run. */
export const exampleKeys: Record<KeyKind, string> = {
  app: '2f1c6f0e-7f0c-4a53-8c11-5a0b6c1d7e01',
  knowledge: '2f1c6f0e-7f0c-4a53-8c11-5a0b6c1d7e02',
  writer: '2f1c6f0e-7f0c-4a53-8c11-5a0b6c1d7e03',
  feed: '2f1c6f0e-7f0c-4a53-8c11-5a0b6c1d7e06',
  admin: '2f1c6f0e-7f0c-4a53-8c11-5a0b6c1d7e04',
};

/**
 * By the operation's id, in the order they are sent: a later one shows what an earlier one wrote. Every operation with
 * a JSON response is listed; a test reports missing ones.
 */
export const exampleRequests: Record<string, ExampleRequest> = {
  getConversationHistory: { key: 'app', parameters: { conversation_id, limit: 1 } },
  getConversations: { key: 'app', parameters: { limit: 1 } },
  renameConversation: { key: 'app', parameters: { conversation_id }, body: { name: 'Grinder questions' } },
  rateMessage: { key: 'app', parameters: { message_id }, body: { rating: 'like', user: 'visitor-204' } },
  getAppFeedbacks: { key: 'app', parameters: { limit: 1 } },
  searchUserMessages: { key: 'app', parameters: { query: 'steam boiler', user: 'visitor-204', limit: 1 } },
  getAppInfo: { key: 'app' },
  getAppParameters: { key: 'app' },
  getAppMeta: { key: 'app' },
  getAppSite: { key: 'app' },
  listKnowledgeBases: { key: 'knowledge' },
  getKnowledgeBase: { key: 'knowledge', parameters: { dataset_id: chunk.dataset_id } },
  listKnowledgeDocuments: { key: 'knowledge', parameters: { dataset_id: chunk.dataset_id, limit: 1 } },
  getKnowledgeDocument: { key: 'knowledge', parameters: document },
  listKnowledgeSegments: { key: 'knowledge', parameters: { ...document, limit: 1 } },
  getKnowledgeSegment: { key: 'knowledge', parameters: segment },
  listKnowledgeChildChunks: { key: 'knowledge', parameters: { ...segment, limit: 1 } },
  getChildChunk: { key: 'knowledge', parameters: chunk },
  updateChildChunk: { key: 'knowledge', parameters: chunk, body: edit },
  getAvailableModels: { key: 'app', parameters: { model_type: 'text-embedding' } },
  live: {},
  ready: {},
  listWorkspaces: { key: 'admin' },
  getWorkspace: { key: 'admin', parameters: { workspace_id } },
  listApps: { key: 'admin' },
  getApp: { key: 'admin', parameters: { app_id } },
  listAllConversations: { key: 'admin', parameters: { limit: 1 } },
  listUsers: { key: 'admin', parameters: { sort: '-messages', limit: 1 } },
  getConversation: { key: 'admin', parameters: { app_id, conversation_id } },
  locatePage: { key: 'admin', parameters: { app_id, conversation_id, message_id: firstMessageId } },
  getTranscript: { key: 'admin', parameters: { app_id, conversation_id, limit: 1 } },
  listMessageDetails: { key: 'admin', parameters: { app_id, conversation_id, message_id: [message_id] } },
  search: { key: 'admin', parameters: { q: 'steam boiler', limit: 1 } },
  listWorstTexts: { key: 'admin' },
  countSearchResults: { key: 'admin', parameters: { q: 'steam boiler' } },
  putReview: {
    key: 'admin',
    parameters: { app_id, conversation_id, message_id },
    body: { labels: ['outdated'], expected_answer: 'Descale it every two months.' },
    normalize: review,
  },
  countReviews: { key: 'admin' },
  listReviews: {
    key: 'admin',
    parameters: { state: 'open', limit: 1 },
    normalize: ({ data, ...page }) => ({
      ...page,
      data: data.map((row: { review: object }) => ({ ...row, review: review(row.review) })),
    }),
  },
  listDatasets: { key: 'admin' },
  getDataset: { key: 'admin', parameters: { dataset_id: chunk.dataset_id } },
  listDocuments: { key: 'admin', parameters: { dataset_id: chunk.dataset_id, limit: 1 } },
  getDocument: { key: 'admin', parameters: document },
  listSegments: { key: 'admin', parameters: { ...document, limit: 1 } },
  getSegment: { key: 'admin', parameters: segment },
  listChildChunks: { key: 'admin', parameters: { ...segment, limit: 1 } },
  getChildChunkAsAdmin: { key: 'admin', parameters: chunk },
  listRevisions: { key: 'admin', parameters: chunk },
  updateChildChunkAsAdmin: {
    key: 'admin',
    parameters: chunk,
    body: { content: 'Grind a little finer when the shot takes less than 25 seconds.' },
  },
  listChanges: { key: 'feed', parameters: { kinds: 'child_chunk', limit: 1 }, normalize: changes },
  listActivity: {
    key: 'admin',
    parameters: { action: 'update', record: 'child_chunk', limit: 1 },
    normalize: ({ data, ...rest }) => ({ ...rest, data: data.map(activity), next_cursor: 'WyIwIl0' }),
  },
  listModelProviders: { key: 'admin', parameters: { workspace_id, limit: 1 } },
  getOverview: { key: 'admin', parameters: { from: 1_793_491_200, to: 1_796_083_200 } },
  listFailures: { key: 'admin', normalize: failures },
  getTraffic: { key: 'admin', after: 10, normalize: traffic },
  getHealth: { key: 'admin', normalize: health },
  signIn: { body: { key: 'admin-…' } },
  getSession: { isSignedIn: true },
  importRecords: { key: 'writer', body: newRecords.map((record) => `${JSON.stringify(record)}\n`).join('') },
  deleteConversation: {
    key: 'app',
    parameters: { conversation_id: '6f0c7a0e-54f0-4f4e-8a0f-0c1f6f6a2b61' },
    body: { user: 'visitor-1' },
  },
  purge: {
    key: 'admin',
    body: { conversation_id: '6f0c7a0e-54f0-4f4e-8a0f-0c1f6f6a2b61' },
    normalize: (purged) => ({ ...purged, audit_id: exampleEntry }),
  },
  getRetention: { key: 'admin' },
  openaiCreateConversation: {
    key: 'writer',
    body: { metadata: { user: 'visitor-1' }, items: [{ role: 'user', content: 'Hello?' }] },
    normalize: (created) => ({ ...created, id: openaiId }),
  },
  openaiListConversations: { key: 'app', parameters: { user: 'visitor-204' } },
  openaiGetConversation: { key: 'app', parameters: { conversation_id: openaiId } },
  openaiUpdateConversation: {
    key: 'writer',
    parameters: { conversation_id: openaiId },
    body: { metadata: { topic: 'grinder' } },
  },
  openaiListItems: { key: 'app', parameters: { conversation_id: openaiId, limit: 2 } },
  openaiGetItem: { key: 'app', parameters: { conversation_id: openaiId, item_id: openaiItemId } },
  openaiAddItems: {
    key: 'writer',
    parameters: { conversation_id: openaiId },
    body: { items: [{ role: 'user', content: 'And for filter coffee?' }] },
    normalize: (list) => ({
      ...list,
      data: [{ ...list.data[0], id: newItemId }],
      first_id: newItemId,
      last_id: newItemId,
    }),
  },
  openaiDeleteItem: { key: 'app', parameters: { conversation_id: openaiId, item_id: openaiItemId } },
  openaiDeleteConversation: { key: 'app', parameters: { conversation_id: openaiId } },
  getSuggestedQuestions: { key: 'app', parameters: { message_id }, fails: true },
  listKeys: { key: 'admin', parameters: { limit: 2 } },
  createKey: {
    key: 'admin',
    body: { kind: 'app', name: 'website', app_id },
    normalize: () => ({ id: '2f1c6f0e-7f0c-4a53-8c11-5a0b6c1d7e05', secret: 'app-…' }),
  },
  updateKey: { key: 'admin', parameters: { key_id: exampleKeys.app }, body: { read_only: true } },
  rotateKey: {
    key: 'admin',
    parameters: { key_id: exampleKeys.writer },
    normalize: () => ({ id: '9a0b6c1d-7e05-4a53-8c11-2f1c6f0e7f0c', secret: 'writer-…' }),
  },
  revokeKey: { key: 'admin', parameters: { key_id: exampleKeys.writer } },
  listReads: { key: 'admin', normalize: () => exampleReads },
  saveView: {
    key: 'admin',
    parameters: { name: 'Disliked this week' },
    body: { address: '#/conversations?rating=dislike&days=7' },
  },
  listSavedViews: { key: 'admin' },
  deleteView: { key: 'admin', parameters: { name: 'Disliked this week' } },
  listPeople: { key: 'admin' },
  updatePerson: { key: 'admin', parameters: { person_id }, body: { blocked: true } },
  endPersonSessions: { key: 'admin', parameters: { person_id } },
  createChildChunk: {
    key: 'knowledge',
    parameters: segment,
    body: { content: 'Clean the grinder once a week.' },
    normalize: ({ data }) => ({ data: { ...data, id: '7f25d0b8-1c2b-46cc-bbaf-08268ca9c5d0' } }),
  },
  deleteChildChunk: { key: 'knowledge', parameters: chunk },
  createApp: {
    key: 'admin',
    body: { name: 'Sales desk', mode: 'chat' },
    normalize: (app) => ({ ...app, id: '3ccf2629-6bc4-4b26-9774-7084d2d1a2ca' }),
  },
  updateApp: { key: 'admin', parameters: { app_id }, body: { retention_days: 365 } },
  deleteMessage: { key: 'admin', parameters: { app_id, conversation_id, message_id: firstMessageId } },
};

/** With a fixed epoch in the cursors, and a fixed time. */
function changes({ data, cursor, ...rest }: { data: { cursor: string; at: number }[]; cursor: string }): object {
  const fixed = (text: string) => text.replace(/^\w+/, 'k3f9a1');
  const at = 1_793_822_400;
  return { data: data.map((entry) => ({ ...entry, cursor: fixed(entry.cursor), at })), ...rest, cursor: fixed(cursor) };
}

/** With a fixed tag. */
function review(fields: object): object {
  return { ...fields, etag: '"psHyRXUXstGH2aAZXChufg"' };
}

/** With a fixed id. */
const activity = (entry: object) => ({ ...entry, id: exampleEntry });

/** The last two of 360 intervals, with fixed request durations. */
/** Requests are counted after their responses, so what the service lists here depends on the time. */
function failures(): object {
  const key = { key_id: exampleKeys.app, key_name: 'Front end' };
  const times = { first_at: 1_793_822_300, last_at: 1_793_822_395 };
  const request_id = 'b1d7f2c4-8a31-4c0e-9f6d-2e5a7c90d1b3';
  const error = { code: 'not_found', message: 'conversation not exists' };
  const request = { status: 404, method: 'GET', route: '/v1/messages' };
  const errors = { client_errors: 12, server_errors: 0 };
  const by_key = [{ ...key, ...errors, hours: [{ at: 1_793_818_800, ...errors }] }];
  return { by_key, data: [{ ...request, ...key, count: 3, ...times, request_id, ...error }] };
}

function health({ verdicts, ...report }: { verdicts: { name: string; text: string }[] }): object {
  const texts: Record<string, string> = { database: 'Database 2.1 MB', service: 'Version 0.1.0, up 3 days' };
  const fixed = verdicts.map((one) => ({ ...one, text: texts[one.name] ?? one.text }));
  return { ...report, verdicts: fixed, version: '0.1.0', started_at: 1_793_563_200, database_bytes: 2_100_000 };
}

function traffic({ data, ...rest }: { data: { p50: number | null }[] }): object {
  const durations = { p50: 1.01, p90: 2.4, p99: 4.03 };
  return { ...rest, data: data.slice(-2).map((one) => (one.p50 === null ? one : { ...one, ...durations })) };
}
