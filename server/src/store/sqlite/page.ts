import { limits } from '../../contract/limits.ts';
import {
  type FoundPage,
  type MessagePosition,
  type Messages,
  messageSeparator,
  type OpenPage,
  type PagePosition,
  type PageShape,
} from '../../domain/store/store.ts';
import type { Value } from '../base/engine.ts';
import { pageOfRows } from '../base/large-responses.ts';
import type { Connection } from './connection.ts';
import { pageStatements } from './statements.ts';

/** The start of a page's messages, as parameters of the statements that read them. */
type Start = { from: 'newest' | 'older'; conversation_id: string; before: Value[] };
type FoundConversation = { version: string; has_large_messages: boolean; start: Start | undefined };

/**
 * Reads a page inside the caller's snapshot: the version first, and messages only if it is not the cached version, and if `mayBeLarge`
 * or the conversation has no large ones.
 */
export function findPage(
  db: Connection,
  position: PagePosition,
  shape: PageShape,
  cachedVersion: string | undefined,
  mayBeLarge: boolean,
): FoundPage | undefined | 'may_be_large' {
  const conversation = findConversation(db, position);
  if (conversation === undefined) return undefined;
  const { version, start, has_large_messages } = conversation;
  if (start === undefined) return { version, first_message_exists: false, messages: undefined };
  if (version === cachedVersion) return { version, first_message_exists: true, messages: undefined };
  if (has_large_messages && !mayBeLarge) return 'may_be_large';
  // Reading all texts of a page only to find out that it is too large for memory would hold up other requests.
  const isTooLarge = has_large_messages && pageBytes(findPositions(db, start, shape), shape) > limits.pageBytesMax;
  return { version, first_message_exists: true, messages: isTooLarge ? 'too_large' : joinMessages(db, start, shape) };
}

/** `start` is undefined if the message `first_id` does not exist. */
function findConversation(db: Connection, position: PagePosition): FoundConversation | undefined {
  const { conversation_id, app_id, user, first_id } = position;
  const from = first_id === undefined ? 'newest' : 'older';
  const first = first_id === undefined ? [] : [first_id];
  const row =
    user === undefined
      ? db.first(pageStatements.conversation[from].anyUser, ...first, conversation_id, app_id)
      : db.first(pageStatements.conversation[from].user, ...first, conversation_id, app_id, user);
  if (row === undefined) return undefined;
  const [version, hasLarge, created_at, sequence] = row;
  const has_large_messages = hasLarge === 1;
  if (created_at === null) return { version, has_large_messages, start: undefined };
  const before = created_at === undefined || sequence === undefined ? [] : [created_at, sequence];
  return { version, has_large_messages, start: { from, conversation_id, before } };
}

/** Reads one message more than the page has, to detect whether there are older ones, and removes it. */
function joinMessages(
  db: Connection,
  { from, conversation_id, before }: Start,
  { limit, page_order }: PageShape,
): Messages | 'too_large' {
  const statement = pageStatements.messages[from][page_order];
  const [count, docs] = db.first(statement, conversation_id, ...before, limit + 1) ?? [0, null];
  if (docs === null) return { docs: new Uint8Array(), next: undefined };
  const text = Buffer.from(docs.buffer, docs.byteOffset, docs.length);
  let [page, next]: [Buffer, string | undefined] = [text, undefined];
  if (count > limit) {
    const isNewestFirst = page_order === 'newest_first';
    page = isNewestFirst
      ? text.subarray(0, text.lastIndexOf(messageSeparator))
      : text.subarray(text.indexOf(messageSeparator) + messageSeparator.length);
    const oldestAt = isNewestFirst && limit > 1 ? page.lastIndexOf(messageSeparator) + messageSeparator.length : 0;
    next = page.toString('latin1', oldestAt + idAt, oldestAt + idAt + idLength);
  }
  return page.length > limits.pageBytesMax ? 'too_large' : { docs: page, next };
}

/** The text of a message starts with its id. */
const idAt = '{"id":"'.length;
const idLength = 36;

/** Newest first, with one message more than the page has. */
const findPositions = (db: Connection, { from, conversation_id, before }: Start, { limit }: PageShape) =>
  db.all(pageStatements.positions[from], conversation_id, ...before, limit + 1, conversation_id);

const pageBytes = (rows: readonly { bytes: number }[], { limit }: PageShape): number =>
  rows.slice(0, limit).reduce((sum, { bytes }) => sum + bytes + messageSeparator.length, 0);

/** A page that uses `db` alone, in one transaction. Closing the page closes the connection. */
export function openPage(db: Connection, position: PagePosition, shape: PageShape): OpenPage | undefined {
  db.db.exec('PRAGMA query_only = ON; BEGIN');
  const conversation = findConversation(db, position);
  if (conversation === undefined) return undefined;
  const { version, start } = conversation;
  const page = pageOfRows(start === undefined ? [] : findPositions(db, start, shape), shape);
  const iterateDocs = ({ created_at, sequence }: MessagePosition) =>
    db.iterate(pageStatements.docs[shape.page_order], position.conversation_id, created_at, sequence);
  let docs: Iterator<{ doc: Uint8Array }> | undefined;
  const readDocs: OpenPage['readDocs'] = async (batch) =>
    batch.map((message) => {
      if (docs === undefined || message === page.messages[0]) docs = iterateDocs(message);
      return docs.next().value.doc;
    });
  return {
    version,
    first_message_exists: start !== undefined,
    ...page,
    readDocs,
    close: () => db.close(),
  };
}
