import { decimalPattern } from '../../contract/primitives.ts';
import { isoTime } from '../iso-time.ts';
import type { SelectedMessage } from '../store/selection.ts';

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

export const csvHeader = `${Object.keys(columns).join(',')}\r\n`;

/** One row of RFC 4180. */
export function csvRow(selected: SelectedMessage): string {
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
