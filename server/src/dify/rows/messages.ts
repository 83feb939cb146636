import { limits } from '../../contract/limits.ts';
import { type MessageRow, mapMessage } from '../map/message.ts';
import { type DifySource, queryIds, type Reading, type RecordInput, type Report } from '../source.ts';
import { type MessageKey, orderMessages } from './message-order.ts';
import { readMessageParts } from './message-parts.ts';
import { conditionOf, epoch, Parameters, readIds, selectedFrom } from './selection.ts';

/**
 * Ids of messages that are not final: `unfinished` have no record yet; `open` have one, because their answer may never be written, or
 * waits for a person who submits a form.
 */
export type MessageBatch = { records: RecordInput[]; unfinished: string[]; open: string[] };

/** `areFinished`: messages that look unfinished are read, too. */
export type SelectedMessages =
  | { conversationIds: readonly string[] }
  | { messageIds: readonly string[]; areFinished?: boolean };

/** Keys of messages that one statement reads. */
const keysMax = 10_000;
/** Messages that one statement reads, and the size of their texts. */
const batchMessagesMax = 500;
const batchBytesMax = 4_194_304;

/** `other_bytes`: everything else that may be long. */
type Key = MessageKey & { created_at: string; text_bytes: number; other_bytes: number };

/**
 * Messages of conversations, or messages with these ids, in batches of bounded size. Order: by conversation, then by time;
 * messages of one second have parents before children.
 */
export async function* readMessages(reading: Reading, selected: SelectedMessages): AsyncGenerator<MessageBatch> {
  const pages =
    'messageIds' in selected ? readKeysOf(reading, selected.messageIds) : readKeysIn(reading, selected.conversationIds);
  const areFinished = 'messageIds' in selected && selected.areFinished === true;
  for await (const ids of batches(orderMessages(pages), reading.report)) {
    yield readBatch(reading, ids, areFinished);
  }
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

async function readBatch(reading: Reading, ids: readonly string[], areFinished: boolean): Promise<MessageBatch> {
  const { source } = reading;
  const rows = await source.query<MessageRow>(selectMessages, [ids]);
  const isWaiting = (row: MessageRow) => row.is_unfinished && !areFinished;
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

const isEmpty = "m.status = 'normal' AND m.answer = '' AND m.message_tokens = 0 AND m.answer_tokens = 0";
const isYoungerThan = (interval: string) => `m.created_at > now() AT TIME ZONE 'UTC' - interval '${interval}'`;
/** The source writes its answer. Without one for ten minutes, it is not written any more. */
export const isUnfinished = `${isEmpty} AND ${isYoungerThan('10 minutes')}`;
/** Its answer may be written later. */
const isOpen = `${isEmpty} AND ${isYoungerThan('1 day')} OR m.status = 'paused' AND ${isYoungerThan('30 days')}`;

/** The messages of these that are not final. */
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
