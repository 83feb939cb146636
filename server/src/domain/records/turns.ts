import type { Message } from '../../contract/message.ts';
import { derivedId } from '../derived-id.ts';
import { deletedItem, type Item, isDeleted, itemId } from './items.ts';

/**
 * A message that an OpenAI client has written is a turn: what was asked, and everything until the next question. Its items are stored
 * as they are, and the fields of the message are derived from them.
 */

/** A turn takes no further items beyond this. */
const turnItemsMax = 100;
const turnUnitsMax = 262_144;

const askingRoles: readonly unknown[] = ['user', 'system', 'developer'];
const isAsking = ({ type, role }: Item): boolean => type === 'message' && askingRoles.includes(role);

/** `continued`: the items that belong to the stored turn. */
export function splitTurns(items: readonly Item[], storedItems: string | null): { continued: Item[]; turns: Item[][] } {
  const open = storedItems === null ? undefined : openTurn(storedItems);
  const continued: Item[] = [];
  const turns: Item[][] = [];
  let turn = open && continued;
  let before = open;
  for (const item of items) {
    const isStart = turn === undefined || (isAsking(item) && !(before !== undefined && isAsking(before)));
    if (isStart) turns.push((turn = []));
    turn?.push(item);
    before = item;
  }
  return { continued, turns };
}

/** The last item of a stored turn, if the turn takes more. */
function openTurn(storedItems: string): Item | undefined {
  if (storedItems.length >= turnUnitsMax) return undefined;
  const items: Item[] = JSON.parse(storedItems);
  return items.length >= turnItemsMax ? undefined : items.findLast((item) => !isDeleted(item));
}

type AgentThought = Message['agent_thoughts'][number];
type MessageFile = Message['message_files'][number];
type Derived = Pick<Message, 'query' | 'answer' | 'agent_thoughts' | 'message_files'>;

/** The fields that readers of `/v1` get. */
export function fieldsOfTurn(items: readonly Item[], message: { id: string; created_at: number }): Derived {
  const textOf = (role: string) =>
    items.flatMap((item) => (item.type === 'message' && item.role === role ? textsIn(item) : [])).join('\n\n');
  return {
    query: textOf('user'),
    answer: textOf('assistant'),
    agent_thoughts: thoughtsIn(items, message),
    message_files: filesIn(items, message.id),
  };
}

type Part = { type: string; [field: string]: unknown };
const partsOf = ({ content }: Item): readonly Part[] => (Array.isArray(content) ? content : []);
const textsIn = (item: Item): string[] =>
  partsOf(item).flatMap(({ text }) => (typeof text === 'string' && text !== '' ? text : []));
const asText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);

function thoughtsIn(
  items: readonly Item[],
  { id: message_id, created_at }: { id: string; created_at: number },
): AgentThought[] {
  const outputs = new Map(
    items.flatMap((item) =>
      item.type === 'function_call_output' ? [[item.call_id, asText(item.output)] as const] : [],
    ),
  );
  const calls = [...items.entries()].filter(([, { type }]) => type === 'function_call');
  return calls.map(([index, call], at) => ({
    id: derivedId('thought', itemId(call, { message_id, index })),
    chain_id: null,
    message_id,
    position: at + 1,
    thought: '',
    tool: asText(call.name),
    tool_labels: {},
    tool_input: asText(call.arguments),
    observation: outputs.get(call.call_id) ?? '',
    files: [],
    created_at,
  }));
}

const addressUnitsMax = 2_048;

function filesIn(items: readonly Item[], message_id: string): MessageFile[] {
  const files: MessageFile[] = [];
  for (const [index, item] of items.entries()) {
    for (const [at, part] of partsOf(item).entries()) {
      const url = part.type === 'input_image' ? part.image_url : part.type === 'input_file' ? part.file_url : undefined;
      if (typeof url !== 'string' || url.length > addressUnitsMax || !/^https?:\/\//i.test(url)) continue;
      files.push({
        id: derivedId('file', itemId(item, { message_id, index }), `${at}`),
        filename:
          typeof part.filename === 'string' ? part.filename : (url.split(/[?#]/, 1)[0]?.split('/').at(-1) ?? ''),
        type: part.type === 'input_image' ? 'image' : 'document',
        url,
        mime_type: null,
        size: null,
        transfer_method: 'remote_url',
        belongs_to: item.role === 'assistant' ? 'assistant' : 'user',
        upload_file_id: null,
      });
    }
  }
  return files;
}

/** A message with its JSON texts as they are stored. */
export type StoredTurn = { id: string; created_at: number; doc: string; items: string | null };

/** The items of a message of any origin: one without items is a question, its calls of tools, and an answer. */
export function itemsOfMessage({ doc, items }: StoredTurn): Item[] {
  if (items !== null) return JSON.parse(items);
  const { query, answer, agent_thoughts }: Message = JSON.parse(doc);
  const message = (role: string, part: object, text: string): Item =>
    text === '' ? deletedItem : { type: 'message', role, content: [{ ...part, text }], status: 'completed' };
  return [
    message('user', { type: 'input_text' }, query),
    ...agent_thoughts.filter(({ tool }) => tool !== '').flatMap(callsOf),
    message('assistant', { type: 'output_text', annotations: [] }, answer),
  ];
}

const callsOf = ({ id, tool, tool_input, observation }: AgentThought): Item[] => [
  { type: 'function_call', call_id: id, name: tool, arguments: tool_input, status: 'completed' },
  { type: 'function_call_output', call_id: id, output: observation, status: 'completed' },
];

/** The fields of a message without one of its items; undefined if it has no other. */
export function withoutItem(turn: StoredTurn, index: number): (Partial<Message> & { items: Item[] }) | undefined {
  const items = itemsOfMessage(turn).with(index, deletedItem);
  if (items.every(isDeleted)) return undefined;
  if (turn.items !== null) return { ...fieldsOfTurn(items, turn), items };
  const { agent_thoughts }: Message = JSON.parse(turn.doc);
  const { query, answer } = fieldsOfTurn(items, turn);
  const calls = new Set(items.map(({ call_id }) => call_id));
  return {
    query,
    answer,
    agent_thoughts: agent_thoughts.filter(({ id, tool }) => tool === '' || calls.has(id)),
    items,
  };
}
