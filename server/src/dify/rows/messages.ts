import { limits } from '../../contract/limits.ts';
import { type OpenObject, withoutInternals } from '../map/json.ts';
import { type PartsOf, RecordMapper } from '../map/record-mapper.ts';
import {
  type DifySource,
  epoch,
  type Mapping,
  type MessageRow,
  queryIds,
  type Reading,
  type RecordInput,
  type Report,
} from '../source.ts';
import { mapCitations } from './citations.ts';
import { type MessageKey, orderMessages } from './message-order.ts';
import { readFiles, readForms, readThoughts } from './parts.ts';
import { columns, conditionOf, Parameters, readIds, readParts, selectedFrom } from './selection.ts';

/**
 * Ids of messages that are not final: `unfinished` have no record yet; `open` have one, because their answer may never be written, or
 * waits for a person who submits a form.
 */
export type MessageBatch = { records: RecordInput[]; unfinished: string[]; open: string[] };

export type SelectedMessages = { conversationIds: readonly string[] } | { messageIds: readonly string[] };

/** Keys of messages that one statement reads. */
const keysMax = 10_000;
/** Messages that one statement reads, and the size of their texts. */
const batchMessagesMax = 500;
const batchBytesMax = 4_194_304;

/** `other_bytes`: everything else that may be long. */
type Key = MessageKey & { created_at: string; text_bytes: number; other_bytes: number };

/**
 * Messages of conversations, or messages with these ids, in batches of bounded size. Order: by conversation, then by time;
 * messages of one second have parents before children. Those that are `finished` are read whatever their rows look like.
 */
export async function* readMessages(
  reading: Reading,
  selected: SelectedMessages,
  finished: ReadonlySet<string> = new Set(),
): AsyncGenerator<MessageBatch> {
  const pages =
    'messageIds' in selected ? readKeysOf(reading, selected.messageIds) : readKeysIn(reading, selected.conversationIds);
  for await (const ids of batches(orderMessages(pages), reading.report)) yield readBatch(reading, ids, finished);
}

async function* readKeysOf({ source, options }: Reading, ids: readonly string[]): AsyncGenerator<Key[]> {
  const parameters = new Parameters();
  const from = `(SELECT m.* FROM ${selectedFrom.message}
    WHERE m.id = ANY(${parameters.bind(ids)}::uuid[]) AND ${conditionOf('message', options, parameters)}) k`;
  yield source.query<Key>(selectKeys(source, from), parameters.values);
}

/** Pages of keys. The size of a page bounds the memory, also for a conversation with a million messages. */
async function* readKeysIn(reading: Reading, ids: readonly string[]): AsyncGenerator<Key[]> {
  const { source } = reading;
  let rest = (await readIds(reading, 'conversation', { ids })).sort();
  let last: Key | undefined;
  while (rest.length > 0) {
    const parameters = new Parameters();
    const inConversations = `conversation_id = ANY(${parameters.bind(rest)}::uuid[])`;
    const after =
      last === undefined
        ? ''
        : `AND (conversation_id, created_at, id) > (${parameters.bind(last.conversation_id)}::uuid,
             ${parameters.bind(last.created_at)}::timestamp, ${parameters.bind(last.id)}::uuid)`;
    const from = `(SELECT id, conversation_id, created_at, parent_message_id FROM messages WHERE ${inConversations} ${after}
      ORDER BY conversation_id, created_at, id LIMIT ${keysMax}) k`;
    const page = await source.query<Key>(selectKeys(source, from), parameters.values);
    yield page;
    last = page.at(-1);
    if (last === undefined || page.length < keysMax) return;
    const current = last.conversation_id;
    rest = rest.filter((id) => id >= current);
  }
}

const selectKeys = (source: DifySource, from: string): string => `
  SELECT k.id, k.conversation_id, k.parent_message_id, k.created_at::text AS created_at, ${epoch('k.created_at')} AS second,
    coalesce(octet_length(m.query), 0) + coalesce(octet_length(m.answer), 0) AS text_bytes,
    coalesce(octet_length(m.message_metadata), 0) + coalesce(pg_column_size(m.inputs), 0)
      + ${source.has('message_agent_thoughts') ? thoughtBytes : 0} AS other_bytes
  FROM ${from} JOIN messages m ON m.id = k.id ORDER BY k.conversation_id, k.created_at, k.id`;

const thoughtBytes = `coalesce((
  SELECT sum(coalesce(octet_length(x.observation), 0) + coalesce(octet_length(x.tool_input), 0))::float8
  FROM message_agent_thoughts x WHERE x.message_id = k.id), 0)`;

/** Ids of messages that are read together. Messages that are too large are listed and never read. */
async function* batches(pages: AsyncIterable<readonly Key[]>, report: Report): AsyncGenerator<string[]> {
  let ids: string[] = [];
  let bytes = 0;
  for await (const page of pages) {
    for (const { id, text_bytes, other_bytes } of page) {
      if (text_bytes > limits.recordBytesMax) {
        report.skip({ kind: 'message', id, reason: 'too large', detail: `${text_bytes} bytes` });
        continue;
      }
      if (ids.length === batchMessagesMax || (ids.length > 0 && bytes + text_bytes + other_bytes > batchBytesMax)) {
        yield ids;
        ids = [];
        bytes = 0;
      }
      ids.push(id);
      bytes += text_bytes + other_bytes;
    }
  }
  if (ids.length > 0) yield ids;
}

async function readBatch(reading: Reading, ids: readonly string[], ended: ReadonlySet<string>): Promise<MessageBatch> {
  const { source } = reading;
  const rows = await source.query<MessageRow>(selectMessages, [ids]);
  const isWaiting = (row: MessageRow) => row.is_unfinished === true && !ended.has(row.id);
  const byId = new Map(rows.map((row) => [row.id, row]));
  // A message may have been deleted since its key was read.
  const finished = ids.flatMap((id) => byId.get(id) ?? []).filter((row) => !isWaiting(row));
  const parts = await readMessageParts(
    source,
    finished.map(({ id }) => id),
  );
  return {
    records: finished.flatMap((row) => mapMessage(row, parts, reading) ?? []),
    unfinished: rows.filter(isWaiting).map(({ id }) => id),
    open: finished.filter(({ is_open }) => is_open).map(({ id }) => id),
  };
}

/** The parts of a batch of messages. One statement for each table. */
async function readMessageParts(source: DifySource, ids: readonly string[]): Promise<MessageParts> {
  const message_files = await readFiles(source, ids);
  const agent_thoughts = await readThoughts(source, ids);
  const extra_contents = await readForms(source, ids);
  const feedback = await readParts(source, ['message_feedbacks'], selectFeedback(source), ids);
  return { message_files, agent_thoughts, extra_contents, feedbackOf: (id) => feedback.get(id)?.[0] };
}

/** The newest one of the end user; `admin` is feedback of the console. */
const selectFeedback = (source: DifySource): string => `
  SELECT DISTINCT ON (f.message_id) f.message_id, f.rating, ${columns(source, 'message_feedbacks', 'f', ['content'])}
  FROM message_feedbacks f WHERE f.message_id = ANY($1::uuid[]) AND f.from_source = 'user'
  ORDER BY f.message_id, f.created_at DESC, f.id DESC`;

export type MessageParts = Readonly<Record<'message_files' | 'agent_thoughts' | 'extra_contents', PartsOf>> & {
  feedbackOf: (id: string) => OpenObject | undefined;
};

const repair = {
  lists: ['message_files', 'retriever_resources', 'agent_thoughts', 'extra_contents'],
  optional: {
    inputs: {},
    total_price: null,
    currency: null,
    model_provider: null,
    model: null,
    provider_response_latency: 0,
    feedback: null,
  },
  skipsLarge: true,
};

/** Undefined if the message cannot be imported: then it is listed. */
export function mapMessage(row: MessageRow, parts: MessageParts, reading: Mapping): RecordInput | undefined {
  const { id } = row;
  const mapper = new RecordMapper('message', id, reading);
  const feedback = parts.feedbackOf(id);
  const record: RecordInput = {
    record: 'message',
    id,
    conversation_id: row.conversation_id,
    parent_message_id: row.parent_message_id,
    inputs: withoutInternals(mapper.object(row.inputs, 'inputs') ?? {}),
    query: mapper.text(row.query),
    answer: mapper.text(row.answer),
    status: row.status === 'error' ? 'error' : 'normal',
    error: mapper.textOrNull(row.error),
    message_files: parts.message_files(row, mapper),
    feedback: feedback === undefined ? null : { rating: feedback.rating },
    feedback_content: mapper.textOrNull(feedback?.content),
    retriever_resources: mapCitations(mapper, row),
    agent_thoughts: parts.agent_thoughts(row, mapper),
    created_at: row.created_at,
    extra_contents: parts.extra_contents(row, mapper),
    message_tokens: row.message_tokens,
    answer_tokens: row.answer_tokens,
    provider_response_latency: row.provider_response_latency,
    total_price: row.total_price,
    currency: row.currency,
    model_provider: mapper.textOrNull(row.model_provider || null),
    model: mapper.textOrNull(row.model_id || null),
  };
  return mapper.finish(record, repair);
}

const isEmpty = "m.status = 'normal' AND m.answer = '' AND m.message_tokens = 0 AND m.answer_tokens = 0";
const isYoungerThan = (interval: string) => `m.created_at > now() AT TIME ZONE 'UTC' - interval '${interval}'`;
/** The source writes its answer. Without one for ten minutes, it is not written any more. */
export const isUnfinished = `${isEmpty} AND ${isYoungerThan('10 minutes')}`;
/** Its answer may be written later. */
const isOpen = `${isEmpty} AND ${isYoungerThan('1 day')} OR m.status = 'paused' AND ${isYoungerThan('30 days')}`;

export const findOpen = async (source: DifySource, ids: readonly string[]): Promise<Set<string>> =>
  new Set(await queryIds(source, `SELECT m.id FROM messages m WHERE m.id = ANY($1::uuid[]) AND (${isOpen})`, [ids]));

const selectMessages = `
  SELECT m.id, m.conversation_id, a.tenant_id AS workspace_id, m.parent_message_id, m.inputs::text AS inputs, m.query,
    m.answer, m.status, m.error, m.message_metadata, m.message_tokens, m.answer_tokens, m.provider_response_latency,
    m.total_price::text AS total_price, m.currency, m.model_provider, m.model_id, ${epoch('m.created_at')} AS created_at,
    (${isUnfinished}) AS is_unfinished,
    (${isOpen}) AS is_open
  FROM messages m JOIN conversations c ON c.id = m.conversation_id JOIN apps a ON a.id = c.app_id
  WHERE m.id = ANY($1::uuid[])`;
