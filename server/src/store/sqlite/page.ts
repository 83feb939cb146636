import { limits } from '../../contract/limits.ts';
import type { FoundPage, Messages, OpenPage, PagePosition, PageShape } from '../../domain/store/store.ts';
import type { Value } from '../engine.ts';
import { pageOfRows } from '../large-responses.ts';
import type { Connection } from './connection.ts';
import { pageStatements } from './statements.ts';

/** The start of a page's messages, as parameters of the statements that read them. */
type Start = { from: 'newest' | 'older'; values: Value[] };
type FoundConversation = { version: string; start: Start | undefined };

/** Reads a page inside the caller's snapshot: the version first, and messages only if it is not the cached version. */
export function findPage(
  db: Connection,
  position: PagePosition,
  shape: PageShape,
  cachedVersion: string | undefined,
): FoundPage | undefined {
  const conversation = findConversation(db, position);
  if (conversation === undefined) return undefined;
  const { version, start } = conversation;
  if (start === undefined) return { version, first_message_exists: false, messages: undefined };
  const messages = version === cachedVersion ? undefined : joinMessages(db, start, shape);
  return { version, first_message_exists: true, messages };
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
  const [version, created_at, sequence] = row as [string, Value | undefined, Value | undefined];
  if (created_at === null) return { version, start: undefined };
  const bounds = created_at === undefined || sequence === undefined ? [] : [created_at, sequence];
  return { version, start: { from, values: [conversation_id, ...bounds] } };
}

type JoinedRow = [count: number, joined: number, docs: Uint8Array | null, parts: string | null];

/** Reads one message more than the page has, to detect whether there are older ones. `cutPage` removes it. */
function joinMessages(db: Connection, start: Start, shape: PageShape): Messages | 'too_large' {
  const read = (statements: typeof pageStatements.messages) =>
    db.first(statements[start.from][shape.page_order], ...start.values, shape.limit + 1) as JoinedRow;
  const row = read(pageStatements.messages);
  const [count, joined] = row;
  if (joined === count) return cutPage(row, shape);
  return pageBytes(row, shape) > limits.pageBytesMax ? 'too_large' : cutPage(read(pageStatements.allMessages), shape);
}

function cutPage([count, , docs, parts]: JoinedRow, { limit, page_order }: PageShape): Messages | 'too_large' {
  let page = docs ?? new Uint8Array();
  let next: string | undefined;
  if (count > limit) {
    const list = (parts ?? '').split(' ');
    const isNewestFirst = page_order === 'newest_first';
    page = isNewestFirst ? page.subarray(0, -Number(list.at(-1)) - 1) : page.subarray(Number(list[1]) + 1);
    next = isNewestFirst ? list.at(-4) : list[2];
  }
  return page.length > limits.pageBytesMax ? 'too_large' : { docs: page, next };
}

/** The size of a page whose texts were not all read. */
function pageBytes([count, , , parts]: JoinedRow, { limit, page_order }: PageShape): number {
  const lengths = (parts ?? '').split(' ').flatMap((part, index) => (index % 2 === 1 ? [Number(part)] : []));
  if (count > limit) lengths.splice(page_order === 'newest_first' ? -1 : 0, 1);
  return lengths.reduce((sum, length) => sum + length + 1, 0);
}

/** A page that uses `db` alone, in one transaction. Closing the page closes the connection. */
export function openPage(db: Connection, position: PagePosition, shape: PageShape): OpenPage | undefined {
  db.db.exec('PRAGMA query_only = ON; BEGIN');
  const conversation = findConversation(db, position);
  if (conversation === undefined) return undefined;
  const { version, start } = conversation;
  const rows =
    start === undefined ? [] : db.all(pageStatements.positions[start.from], ...start.values, shape.limit + 1);
  const readDoc = ({ created_at, sequence }: { created_at: number; sequence: number }) =>
    db.first(pageStatements.doc, position.conversation_id, created_at, sequence)?.[0] as Uint8Array;
  const readDocs: OpenPage['readDocs'] = async (batch) => batch.map(readDoc);
  return {
    version,
    first_message_exists: start !== undefined,
    ...pageOfRows(rows, shape),
    readDocs,
    close: () => db.close(),
  };
}
