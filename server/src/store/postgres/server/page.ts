import { limits } from '../../../contract/limits.ts';
import {
  type FoundPage,
  type MessagePosition,
  type Messages,
  messageSeparator,
  type OpenPage,
  type PagePosition,
  type PageShape,
} from '../../../domain/store/store.ts';
import type { Reader, Snapshot, Value } from '../../base/engine.ts';
import { pageOfRows } from '../../base/large-responses.ts';
import type { Statement } from '../../base/statement.ts';
import type { PostgresPool } from '../pool/pool.ts';
import { bytesColumn, freeRowBytes } from '../pool/row-bytes.ts';
import * as postgres from './statements.ts';

/** `first_message` is null if the message with `first_id` does not exist. */
type ConversationColumns = { version: string; first_message: string | null };

/** A row for each message, newest first, or one row without a message. `large_bytes`: the length of a text that was not read. */
export type PageRow = ConversationColumns & {
  id: string | null;
  large_bytes: string | null;
  [bytesColumn]: Buffer | null;
};

/** The columns of the message are null if there is none. */
type PositionRow = ConversationColumns & MessagePosition;

/** Without and with a first message, each without and with a user. */
const statementsOf = <R extends object>(columns: string): Statement<R>[] =>
  [false, true].flatMap((hasFirst) =>
    [false, true].map((hasUser) => postgres.pageStatement(hasFirst, hasUser, columns)),
  );
const statements = {
  smallTexts: statementsOf<PageRow>(postgres.pageColumns.smallTexts),
  allTexts: statementsOf<PageRow>(postgres.pageColumns.allTexts),
  positions: statementsOf<PositionRow>(postgres.pageColumns.positions),
};

/** Reads one message more than the page has, to detect whether there are older ones. */
async function readRows<R extends object>(
  read: Reader,
  forms: readonly Statement<R>[],
  { first_id, conversation_id, app_id, user }: PagePosition,
  { limit }: PageShape,
  cachedVersion: string | undefined,
): Promise<R[]> {
  // No version is empty.
  const values: Value[] = [cachedVersion ?? '', conversation_id, app_id];
  if (first_id !== undefined) values.unshift(first_id);
  if (user !== undefined) values.push(user);
  const statement = forms[(first_id === undefined ? 0 : 2) + (user === undefined ? 0 : 1)] ?? '';
  return read(statement, ...values, limit + 1);
}

export async function readPage(
  pool: PostgresPool,
  position: PagePosition,
  shape: PageShape,
  cachedVersion: string | undefined,
): Promise<FoundPage | undefined> {
  const read = (columns: TextColumns) =>
    readRows((...statement) => pool.query(...statement), statements[columns], position, shape, cachedVersion);
  const rows = await readTexts(read, shape);
  const [first] = rows;
  if (first === undefined) return undefined;
  const { version } = first;
  const first_message_exists = first.first_message !== null;
  if (version === cachedVersion) return { version, first_message_exists, messages: undefined };
  return { version, first_message_exists, messages: joinMessages(rows, shape) };
}

type TextColumns = 'smallTexts' | 'allTexts';

/** With their large texts only if the page fits into memory. */
export async function readTexts(
  read: (columns: TextColumns) => Promise<PageRow[]>,
  shape: PageShape,
): Promise<PageRow[]> {
  const rows = await read('smallTexts');
  const isIncomplete = rows.some((row) => row.large_bytes !== null);
  return isIncomplete && bytesOf(rows, shape) <= limits.pageBytesMax ? read('allTexts') : rows;
}

const bytesOf = (rows: readonly PageRow[], { limit }: PageShape): number =>
  rows.slice(0, limit).reduce((sum, row) => sum + (row[bytesColumn]?.length ?? Number(row.large_bytes)) + 1, 0);

export function joinMessages(rows: readonly PageRow[], shape: PageShape): Messages | 'too_large' {
  if (bytesOf(rows, shape) > limits.pageBytesMax) return 'too_large';
  const { limit, page_order } = shape;
  const page = rows.slice(0, limit);
  const next = rows.length > limit ? (page.at(-1)?.id ?? undefined) : undefined;
  const texts = (page_order === 'newest_first' ? page : page.reverse()).flatMap((row) => row[bytesColumn] ?? []);
  const separators = messageSeparator.length * Math.max(0, texts.length - 1);
  const docs = Buffer.allocUnsafeSlow(texts.reduce((sum, { length }) => sum + length, separators));
  let offset = 0;
  for (const text of texts) {
    if (offset > 0) offset += docs.write(messageSeparator, offset, 'latin1');
    offset += text.copy(docs, offset);
  }
  freeRowBytes(rows);
  return { docs, next };
}

/** A page that uses a snapshot alone. Closes it if the page does not exist. */
export async function openPage(
  { read, close }: Snapshot,
  position: PagePosition,
  shape: PageShape,
): Promise<OpenPage | undefined> {
  const readDocs: OpenPage['readDocs'] = async (batch) => {
    const column = (name: 'created_at' | 'sequence') => batch.map((message) => message[name]);
    const docs = await read(postgres.findDocs, position.conversation_id, column('created_at'), column('sequence'));
    return docs.map((row) => row[bytesColumn]);
  };
  let page: OpenPage | undefined;
  try {
    const rows = await readRows(read, statements.positions, position, shape, undefined);
    const [first] = rows;
    if (first === undefined) return undefined;
    const { version, first_message, id } = first;
    page = {
      version,
      first_message_exists: first_message !== null,
      ...pageOfRows(id === null ? [] : rows, shape),
      readDocs,
      close,
    };
    return page;
  } finally {
    if (page === undefined) close();
  }
}
