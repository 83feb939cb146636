import { keysOf } from '../../contract/primitives.ts';
import type { RecordKind } from '../../contract/record.ts';
import type { Exports, SelectedMessage, Selection } from '../../domain/store/selection.ts';
import type { Engine, ExportedRows, ExportStep, Reader, Row } from '../base/engine.ts';
import type { Slots } from '../base/large-responses.ts';
import { type Condition, inPeriod, ofConversation, split } from '../base/selection.ts';
import { readByKey, sizedColumns } from '../base/sized.ts';
import { columnsOf, type RowKind, tables, textColumnsOf } from './tables.ts';

export const exportSteps: readonly ExportStep[] = keysOf(tables).map(newStep);

export function stepOf(kind: RecordKind): ExportStep {
  const step = exportSteps.find((one) => one.kind === kind);
  if (step === undefined) throw new Error(`no export of ${kind}`);
  return step;
}

function newStep(kind: RecordKind): ExportStep {
  const table = tables[kind];
  const names = textColumnsOf(kind);
  if ('order' in table) {
    const { extraColumns = [], jsonColumns = [] } = table;
    const line = (row: Row) => {
      const others = extraColumns.map((field) => `,"${field}":${JSON.stringify(row[field])}`).join('');
      const lists = jsonColumns.map((field) => `,"${field}":${row[field] ?? '[]'}`).join('');
      return `{"record":"${kind}",${(row.doc as string).slice(1, -1)}${others}${lists}}`;
    };
    const columns = [...extraColumns, ...jsonColumns].filter((name) => !names.includes(name));
    const texts = Object.fromEntries(names.map((name) => [name, name]));
    return { kind, table: table.name, columns, texts, key: table.order, line };
  }
  const columns = columnsOf(kind as RowKind).flatMap(({ name, field, read }) =>
    field === undefined ? [] : [{ name, field, read }],
  );
  const isText = ({ name }: { name: string }) => names.includes(name);
  const selected = columns.filter((column) => !isText(column)).map(({ name, field }) => `${name} AS ${field}`);
  const texts = Object.fromEntries(columns.filter(isText).map(({ name, field }) => [field, name]));
  return {
    ...{ kind, table: table.name, columns: selected, texts, key: table.key },
    line: (row) => {
      const record: Row = { record: kind };
      for (const { name, field, read } of columns) {
        if (name === 'details') Object.assign(record, read(row.details));
        else record[field] = read(row[field]);
      }
      return JSON.stringify(record);
    },
  };
}

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
  const rows = await read('SELECT app_id FROM conversations WHERE conversation_id = ?/*@*/', conversation_id);
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

function reviewsOf(read: Reader, conversation_id: string, selection: Selection): AsyncGenerator<Row[], void> {
  const { texts, values } = split(inPeriod('m.created_at', selection));
  const ofMessage = `SELECT 1 FROM messages m WHERE m.conversation_id = reviews.conversation_id AND m.id = reviews.message_id`;
  const conditions: Condition[] = [
    ['conversation_id = ?/*@*/', conversation_id],
    ...(values.length === 0 ? [] : [[`EXISTS (${[ofMessage, ...texts].join(' AND ')})`, ...values] as const]),
  ];
  return readByKey(read, stepOf('review'), conditions);
}

function messagesOf(read: Reader, conversation_id: string, selection: Selection): AsyncGenerator<Row[], void> {
  const conditions: Condition[] = [['conversation_id = ?/*@*/', conversation_id], ...inPeriod('created_at', selection)];
  return readByKey(read, { ...stepOf('message'), key: ['created_at', 'sequence'] }, conditions);
}

export function exportsOf(engine: Engine, slots: Slots): Exports {
  const stepsOf = (kinds: readonly RecordKind[] | undefined) =>
    exportSteps.filter(({ kind }) => kinds?.includes(kind) ?? true);
  return {
    all: (kinds, signal) => slots.openParts(linesOf(engine.readAll(stepsOf(kinds)), kinds), signal),
    selected: (selection, kinds, signal) => slots.openParts(linesOf(selectedRows(engine, selection), kinds), signal),
    messages: (selection, signal) => slots.openParts(messagesIn(selectedRows(engine, selection)), signal),
  };
}

async function* selectedRows(engine: Engine, selection: Selection): AsyncGenerator<ExportedRows> {
  const { read, close } = await engine.openSnapshot();
  try {
    yield* readSelected(read, selection);
  } finally {
    close();
  }
}

async function* linesOf(
  parts: AsyncIterable<ExportedRows>,
  kinds: readonly RecordKind[] | undefined,
): AsyncGenerator<Uint8Array> {
  for await (const { step, rows } of parts) {
    if (kinds?.includes(step.kind) ?? true) yield Buffer.from(rows.map((row) => `${step.line(row)}\n`).join(''));
  }
}

async function* messagesIn(parts: AsyncIterable<ExportedRows>): AsyncGenerator<SelectedMessage[]> {
  for await (const { step, rows, user = null } of parts) {
    if (step.kind === 'message') yield rows.map((row) => ({ ...(row as Omit<SelectedMessage, 'user'>), user }));
  }
}
