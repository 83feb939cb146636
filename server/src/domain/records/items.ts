import { limits } from '../../contract/limits.ts';
import { withHyphens } from '../derived-id.ts';
import { invalidParam } from '../errors.ts';

/** An item of an OpenAI client. Only the fields that are named here are known; all are kept. */
export type Item = { readonly type: string; readonly [field: string]: unknown };

/** In the place of a deleted item, so that no id is used again. */
export const deletedItem: Item = { type: 'deleted' };
export const isDeleted = ({ type }: Item): boolean => type === deletedItem.type;

const roles = ['user', 'assistant', 'system', 'developer', 'tool', 'critic', 'discriminator', 'unknown'];
const prefixes: Readonly<Record<string, string>> = {
  message: 'msg',
  function_call: 'fc',
  function_call_output: 'fco',
  reasoning: 'rs',
};
/** The clients of these send the id again that they gave. */
const keepId = ['reasoning', 'program', 'program_output'];

/** Where an item is: its message, and its index in there. */
export type ItemPlace = { message_id: string; index: number };

/** The id of an item says where it is. */
export const itemId = ({ type }: Item, { message_id, index }: ItemPlace): string =>
  `${prefixes[type] ?? 'item'}_${message_id.replaceAll('-', '')}_${index}`;

/** Undefined if it is not an id of ours. */
export function placeIn(id: string): ItemPlace | undefined {
  const [, hex, index] = /^[a-z]+_([0-9a-f]{32})_(\d{1,6})$/.exec(id) ?? [];
  return hex === undefined ? undefined : { message_id: withHyphens(hex), index: Number(index) };
}

/** The id under which the client knows the item, if it gave one that is kept. */
export const aliasOf = ({ id }: Item): string | undefined => (typeof id === 'string' ? id : undefined);

/** As clients get it. */
export const shownItem = (item: Item, place: ItemPlace): object => ({
  ...item,
  id: aliasOf(item) ?? itemId(item, place),
});

/** The item as it is stored. Throws if it is not valid. */
export function toItem(value: unknown, at: number): Item {
  const name = `items[${at}]`;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidParam(`${name} must be an object`);
  const { id, ...fields } = value as Record<string, unknown>;
  const { type = 'message' } = fields;
  if (typeof type !== 'string' || type === '' || type === deletedItem.type)
    throw invalidParam(`${name}.type must be the type of an item`);
  const kept = keepId.includes(type) ? keptId(id, name) : {};
  return type === 'message' ? toMessage(fields, name) : { ...fields, ...kept, type };
}

function keptId(id: unknown, name: string): { id?: string } {
  if (id === undefined || id === null || id === '') return {};
  if (typeof id !== 'string' || id.length > limits.idUnitsMax)
    throw invalidParam(`${name}.id must be a text of at most ${limits.idUnitsMax} characters`);
  return placeIn(id) === undefined ? { id } : {};
}

function toMessage(fields: Record<string, unknown>, name: string): Item {
  const { role, content, status } = fields;
  if (typeof role !== 'string' || !roles.includes(role))
    throw invalidParam(`${name}.role must be one of ${roles.join(', ')}`);
  return { ...fields, type: 'message', role, content: toParts(content, role, name), status: status ?? 'completed' };
}

function toParts(content: unknown, role: string, name: string): readonly object[] {
  if (typeof content === 'string') {
    return [
      role === 'assistant'
        ? { type: 'output_text', text: content, annotations: [] }
        : { type: 'input_text', text: content },
    ];
  }
  const isPart = (part: unknown) => typeof (part as { type?: unknown } | null)?.type === 'string';
  if (Array.isArray(content) && content.every(isPart)) return content;
  throw invalidParam(`${name}.content must be a text or a list of parts, each with a type`);
}
