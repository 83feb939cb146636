import type { SelectableKind, Selection } from '../../domain/store/selection.ts';
import { type ExportStep, type Reader, type Row, unitsOf, type Value } from '../base/engine.ts';
import { type Condition, inPeriod, ofConversation, split } from '../base/selection.ts';
import { exportSteps } from './export.ts';

/** The first page of rows, before their size is known; the rows and their size that one statement reads at most. */
const firstPageRows = 20;
const pageRows = 500;
const pageUnits = 262_144;

/** Rows of a step of an export. Messages come with the user of their conversation. */
export type SelectedRows = { step: ExportStep; rows: Row[]; user?: string | null };

const stepOf = (kind: SelectableKind): ExportStep => {
  const step = exportSteps.find((one) => one.kind === kind);
  if (step === undefined) throw new Error(`no export of ${kind}`);
  return step;
};

/**
 * The selected conversations with their messages, each after its app and workspace. With a period, only conversations that have
 * messages in it. Small reads along indexes: the first rows come at once, and memory stays flat, whatever is selected.
 */
export async function* readSelected(read: Reader, selection: Selection): AsyncGenerator<SelectedRows> {
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

  async *of(app_id: string): AsyncGenerator<SelectedRows> {
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
    const { columns, table } = stepOf(kind);
    return this.#read(`SELECT ${columns.join(', ')} FROM ${table} WHERE id = ?`, id);
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
  const { columns, table } = stepOf('conversation');
  const overlap = inPeriod('last_message_at', { from: selection.from });
  const beginsBefore = inPeriod('first_message_at', { to: selection.to });
  for (const deleted of [0, 1]) {
    const conditions: Condition[] = [
      ...ofConversation('', selection),
      ['deleted = ?', deleted],
      ...overlap,
      ...beginsBefore,
    ];
    const key = ['created_at', 'conversation_id'];
    const pages = readPages(
      read,
      { columns, table, key, conditions },
      ({ created_at, id }) => [created_at, id] as Value[],
    );
    for await (const rows of pages) yield* rows;
  }
}

function messagesOf(read: Reader, conversation_id: string, selection: Selection): AsyncGenerator<Row[], void> {
  const { columns, table } = stepOf('message');
  const conditions: Condition[] = [['conversation_id = ?', conversation_id], ...inPeriod('created_at', selection)];
  const key = ['created_at', 'sequence'];
  const selected = { columns: [...columns, ...key], table, key, conditions };
  return readPages(read, selected, ({ created_at, sequence }) => [created_at, sequence] as Value[]);
}

type Pages = { columns: readonly string[]; table: string; key: readonly string[]; conditions: readonly Condition[] };

/** Rows in the order of a key, in pages of about the same size. */
async function* readPages(
  read: Reader,
  { columns, table, key, conditions }: Pages,
  keyOf: (row: Row) => Value[],
): AsyncGenerator<Row[], void> {
  const { texts, values } = split(conditions);
  const beyond = `(${key.join(', ')}) > (${key.map(() => '?').join(', ')})`;
  let count = firstPageRows;
  for (let after: Value[] = []; ; ) {
    const where = [...texts, ...(after.length === 0 ? [] : [beyond])].join(' AND ');
    const text = `SELECT ${columns.join(', ')} FROM ${table} WHERE ${where} ORDER BY ${key.join(', ')} LIMIT ?`;
    const rows = await read(text, ...values, ...after, count);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    if (rows.length < count) return;
    after = keyOf(last);
    const units = rows.reduce((sum, row) => sum + unitsOf(row), 0);
    count = Math.max(1, Math.min(pageRows, Math.floor((pageUnits * rows.length) / Math.max(1, units))));
  }
}
