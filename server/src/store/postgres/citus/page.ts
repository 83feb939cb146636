import type { CachedVersion, FoundPage, PagePosition, PageShape } from '../../../domain/store/store.ts';
import type { PostgresPool } from '../pool/pool.ts';
import { joinMessages, type PageRow, readPage as readPageAtOnce, readTexts } from '../server/page.ts';
import * as citus from './statements.ts';

type Position = { created_at: number; sequence: number };

const findConversation = { any: citus.findConversation(false), user: citus.findConversation(true) };
const findMessages = {
  newest: { smallTexts: citus.findMessages(false, 'smallTexts'), allTexts: citus.findMessages(false, 'allTexts') },
  older: { smallTexts: citus.findMessages(true, 'smallTexts'), allTexts: citus.findMessages(true, 'allTexts') },
};

/**
 * Reads a page on one shard: first the version of the conversation, then, unless that is the cached one, the messages. If
 * the version has changed by then, the messages may be newer than the version: the page is read again by one statement.
 */
export async function readPage(
  pool: PostgresPool,
  position: PagePosition,
  shape: PageShape,
  cached: CachedVersion | undefined,
): Promise<FoundPage | undefined> {
  const { conversation_id, first_id } = position;
  const version = await findVersion(pool, position);
  if (version === undefined) return undefined;
  const isCached = version === cached?.version;
  if (isCached && cached.page_exists) return { version, first_message_exists: true, messages: undefined };
  const first = first_id === undefined ? undefined : await pool.query(citus.findPosition, conversation_id, first_id);
  const first_message_exists = first === undefined || first.length > 0;
  if (isCached) return { version, first_message_exists, messages: undefined };
  const rows = first_message_exists ? await readRows(pool, conversation_id, first?.[0], shape) : [];
  if ((await findVersion(pool, position)) !== version) return readPageAtOnce(pool, position, shape, cached?.version);
  return { version, first_message_exists, messages: joinMessages(rows, shape) };
}

async function findVersion(
  pool: PostgresPool,
  { conversation_id, app_id, user }: PagePosition,
): Promise<string | undefined> {
  const [row] =
    user === undefined
      ? await pool.query(findConversation.any, conversation_id, app_id)
      : await pool.query(findConversation.user, conversation_id, app_id, user);
  return row?.version;
}

/** Reads one message more than the page has, to detect whether there are older ones. */
async function readRows(
  pool: PostgresPool,
  conversation_id: string,
  first: Position | undefined,
  shape: PageShape,
): Promise<PageRow[]> {
  const range = first === undefined ? [] : [first.created_at, first.sequence];
  const statements = first === undefined ? findMessages.newest : findMessages.older;
  return readTexts((columns) => pool.query(statements[columns], conversation_id, ...range, shape.limit + 1), shape);
}
