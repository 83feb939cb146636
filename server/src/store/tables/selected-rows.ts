import type { Selection } from '../../domain/store/selection.ts';
import type { ExportedRows, Reader, Row } from '../base/engine.ts';
import { type Condition, inPeriod, ofConversation, split } from '../base/selection.ts';
import { readByKey, sizedColumns } from '../base/sized.ts';
import { stepOf } from './export.ts';

/**
 * The selected conversations with their messages, each after its app and workspace. With a period, only conversations that have
 * messages in it. Small reads along indexes: the first rows come at once, and memory stays flat, whatever is selected.
 */
export async function* readSelected(read: Reader, selection: Selection): AsyncGenerator<ExportedRows> {
  const needsMessages = selection.from !== undefined || selection.to !== undefined;
  const parents = new ParentRows(read);
  for (const app_id of await findApps(read, selection)) {
    for await (const conversation of conversationsOf(read, { ...selection, app_id })) {
      const messages = messagesOf(read, `${conversation.id}`, selection);
      let page = await messages.next();
      if (page.done && needsMessages) continue;
      yield* parents.of(app_id);
      yield { step: stepOf('conversation'), rows: [conversation] };
      for (; !page.done; page = await messages.next()) {
        yield { step: stepOf('message'), rows: page.value, user: conversation.user as string | null };
      }
      for await (const rows of reviewsOf(read, `${conversation.id}`, selection)) yield { step: stepOf('review'), rows };
    }
  }
}

/** Apps and workspaces, each once, before what belongs to them. */
class ParentRows {
  readonly #read: Reader;
  readonly #seen = new Set<string>();

  constructor(read: Reader) {
    this.#read = read;
  }

  async *of(app_id: string): AsyncGenerator<ExportedRows> {
    if (this.#isSeen(app_id)) return;
    const apps = await this.#find('app', app_id);
    const workspace_id = `${apps[0]?.workspace_id}`;
    if (!this.#isSeen(`workspace ${workspace_id}`)) {
      yield { step: stepOf('workspace'), rows: await this.#find('workspace', workspace_id) };
    }
    yield { step: stepOf('app'), rows: apps };
  }

  #isSeen(key: string): boolean {
    if (this.#seen.has(key)) return true;
    this.#seen.add(key);
    return false;
  }

  #find(kind: 'app' | 'workspace', id: string): Promise<Row[]> {
    const step = stepOf(kind);
    return this.#read(`SELECT ${sizedColumns(step, 'all')} FROM ${step.table} WHERE id = ?`, id);
  }
}

async function findApps(read: Reader, { app_id, conversation_id }: Selection): Promise<string[]> {
  if (app_id !== undefined) return [app_id];
  if (conversation_id === undefined) return (await read('SELECT id FROM apps ORDER BY id')).map(({ id }) => `${id}`);
  const rows = await read('SELECT app_id FROM conversations WHERE conversation_id = ?', conversation_id);
  return rows.map((row) => `${row.app_id}`);
}

/** Conversations of one app, deleted ones last. Indexes begin with the app and `deleted`, then the user or the time. */
async function* conversationsOf(read: Reader, selection: Selection): AsyncGenerator<Row> {
  const conversations = { ...stepOf('conversation'), key: ['created_at', 'conversation_id'] };
  const overlap = inPeriod('last_message_at', { from: selection.from });
  const beginsBefore = inPeriod('first_message_at', { to: selection.to });
  for (const deleted of [0, 1]) {
    const conditions: Condition[] = [
      ...ofConversation('', selection),
      ['deleted = ?', deleted],
      ...overlap,
      ...beginsBefore,
    ];
    for await (const rows of readByKey(read, conversations, conditions)) yield* rows;
  }
}

/** Of the selected messages. */
function reviewsOf(read: Reader, conversation_id: string, selection: Selection): AsyncGenerator<Row[], void> {
  const { texts, values } = split(inPeriod('m.created_at', selection));
  const ofMessage = `SELECT 1 FROM messages m WHERE m.conversation_id = reviews.conversation_id AND m.id = reviews.message_id`;
  const conditions: Condition[] = [
    ['conversation_id = ?', conversation_id],
    ...(values.length === 0 ? [] : [[`EXISTS (${[ofMessage, ...texts].join(' AND ')})`, ...values] as const]),
  ];
  return readByKey(read, stepOf('review'), conditions);
}

function messagesOf(read: Reader, conversation_id: string, selection: Selection): AsyncGenerator<Row[], void> {
  const conditions: Condition[] = [['conversation_id = ?', conversation_id], ...inPeriod('created_at', selection)];
  return readByKey(read, { ...stepOf('message'), key: ['created_at', 'sequence'] }, conditions);
}
