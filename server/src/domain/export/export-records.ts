import { decimalPattern } from '../../contract/primitives.ts';
import { listReads } from '../activity/list-activity.ts';
import { invalidParam, notFound } from '../errors.ts';
import { isoTime } from '../iso-time.ts';
import type { LargeText } from '../large-text.ts';
import { readAll } from '../paging.ts';
import {
  type ExportSelection,
  isRestricted,
  restrictedKinds,
  type SelectedMessage,
  type Selection,
} from '../store/selection.ts';
import type { Store } from '../store/store.ts';

/**
 * Lines of the selected records. Throws before the first line if the selection names something that does not exist. `withReads`:
 * also who has read what the selected user said.
 */
export async function exportRecords(
  store: Store,
  selection: ExportSelection,
  signal: AbortSignal,
  withReads = false,
): Promise<LargeText> {
  if (withReads && selection.user === undefined) throw invalidParam('reads requires user');
  if (!isRestricted(selection)) return store.exports.all(selection.kinds, signal);
  const kinds = restrictedKinds(selection);
  await requireSelected(store, selection);
  const records = await store.exports.selected(selection, kinds, signal);
  return withReads ? { chunks: linesWithReads(store, selection, records), close: records.close } : records;
}

async function* linesWithReads(
  store: Store,
  { app_id, user = '' }: Selection,
  { chunks }: LargeText,
): AsyncGenerator<Uint8Array> {
  yield* chunks;
  const reads = await readAll((page) => listReads(store, { ...page, user, ...(app_id && { app_id }) }));
  yield Buffer.from(reads.map((read) => `${JSON.stringify({ read })}\n`).join(''));
}

/** One row for each selected message, after a header. */
export async function exportCsv(store: Store, selection: Selection, signal: AbortSignal): Promise<LargeText> {
  await requireSelected(store, selection);
  const { chunks, close } = await store.exports.messages(selection, signal);
  return { chunks: csvLines(chunks), close };
}

async function* csvLines(parts: AsyncIterable<SelectedMessage[]>): AsyncGenerator<Uint8Array> {
  yield Buffer.from(csvHeader);
  for await (const messages of parts) yield Buffer.from(messages.map(csvRow).join(''));
}

async function requireSelected(store: Store, { app_id, conversation_id }: Selection): Promise<void> {
  if (app_id !== undefined && (await store.lookup('app', [app_id])).size === 0) throw notFound('app not found');
  if (conversation_id === undefined) return;
  const conversation = (await store.lookup('conversation', [conversation_id])).get(conversation_id);
  const isOfApp = app_id === undefined || conversation?.parent === app_id;
  if (conversation === undefined || !isOfApp) throw notFound('conversation not exists');
}

// biome-ignore lint/suspicious/noExplicitAny: a stored message has the fields of its schema
type Message = any;
type Cell = string | number | null | undefined;

/** The columns of a row, by their names in the header. */
const columns: Readonly<Record<string, (message: Message, selected: SelectedMessage) => Cell>> = {
  conversation_id: ({ conversation_id }) => conversation_id,
  message_id: ({ id }) => id,
  created_at: ({ created_at }) => isoTime(created_at),
  user: (_, { user }) => user,
  query: ({ query }) => query,
  answer: ({ answer }) => answer,
  status: ({ status }) => status,
  error: ({ error }) => error,
  rating: ({ feedback }) => feedback?.rating,
  feedback: (_, { feedback_content }) => feedback_content,
  message_tokens: ({ message_tokens }) => message_tokens,
  answer_tokens: ({ answer_tokens }) => answer_tokens,
  total_price: ({ total_price }) => total_price,
  currency: ({ currency }) => currency,
  latency: ({ provider_response_latency }) => provider_response_latency,
  provider: (_, { model_provider }) => model_provider,
  model: (_, { model }) => model,
};

const csvHeader = `${Object.keys(columns).join(',')}\r\n`;

/** One row of RFC 4180. */
function csvRow(selected: SelectedMessage): string {
  const message = JSON.parse(selected.doc);
  const cells = Object.values(columns).map((cellOf) => quote(cellOf(message, selected)));
  return `${cells.join(',')}\r\n`;
}

function quote(cell: Cell): string {
  if (cell === null || cell === undefined) return '';
  const text = withoutFormula(`${cell}`);
  return /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Spreadsheets would execute a text that begins like a formula, also with wide characters, and, where their list separator is the
 * semicolon, after one. A number is none.
 */
function withoutFormula(text: string): string {
  if (decimalPattern.test(text)) return text;
  return text.replace(/^[\t\r\n]/, "'$&").replace(/(^|;[\s"']*)(?=[=+\-@＝＋－＠])/g, "$1'");
}
