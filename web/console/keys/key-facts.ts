import { el, h } from '../../shared/dom.ts';
import { useRecord } from '../hooks/use-record.ts';
import type { Key } from '../state/types.ts';
import { type KeyState, reachOf } from './key-labels.ts';

/** Red is for danger: a key that was revoked is none. */
const badges: Record<KeyState, string> = { active: 'good', 'expires soon': 'warn', expired: '', revoked: '' };

export const State = ({ state }: { state: KeyState }) => h('span', { class: `badge ${badges[state]}` }, state);

export const Kind = ({ of: { kind, read_only } }: { of: Key }) =>
  el('div', kind, read_only && [' ', el('span.badge', 'read-only')]);

/** The names of more datasets are not shown: each is a request, and a key may have a thousand. */
const namedMax = 5;

export function Reach({ of: key }: { of: Key }) {
  const { words, list, ids } = reachOf(key);
  const more = ids.length - namedMax;
  return el(
    'span',
    words,
    ids.slice(0, namedMax).map((id, at) => [at === 0 ? ' ' : ', ', h(Name, { key: id, list, id })]),
    more > 0 && ` and ${more} more`,
  );
}

/** The name of a record; its id until the name is loaded, or if there is none. */
function Name({ list, id }: { list: string; id: string }) {
  return useRecord<{ name: string }>(['admin', list, id])?.name || id;
}
