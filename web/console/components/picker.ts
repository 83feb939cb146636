import { Select } from '../../shared/controls.ts';
import { type ComponentChildren, el, field, h, useState } from '../../shared/dom.ts';
import type { All } from '../hooks/requests.ts';
import { contains } from './marked-text.ts';
import { ErrorNote } from './ui.ts';

export type Pickable = { id: string; name: string; workspace_name?: string };

/** With more options than this, there is a search field. */
const fewMax = 15;

type Props = { label: string; all: All<Pickable>; value: string; choose: (id: string) => void };

/** A choice of one option, by name. */
export function Picker({ label, all: { rows, isLoading, error, reload }, value, choose }: Props) {
  const [part, setPart] = useState('');
  if (error !== undefined) return h(ErrorNote, { error, retry: reload });
  if (isLoading) return h('p', { class: 'soft', role: 'status' }, 'Loading…');
  if (rows.length === 0) return el('p.note', `There are no ${label.toLowerCase()}s yet. Import them as records.`);
  const matching = rows.filter(({ id, name }) => id === value || contains(part, name, id));
  return el('div.stack', [
    rows.length > fewMax && field(`Search ${label.toLowerCase()}`, { type: 'search', value: part, input: setPart }),
    h(Select, {
      label,
      required: true,
      value,
      options: [['', matching.length === 0 ? 'No match' : 'Choose…'], ...matching.map(optionOf)],
      change: choose,
    }),
  ]);
}

type ManyProps = {
  label: string;
  rows: readonly Pickable[];
  values: readonly string[];
  choose: (ids: string[]) => void;
};

/** A choice of several options, by name. */
export function ManyPicker({ label, rows, values, choose }: ManyProps) {
  const [part, setPart] = useState('');
  const matching = rows.filter(({ id, name }) => values.includes(id) || contains(part, name, id));
  const toggle = (id: string) => choose(values.includes(id) ? values.filter((one) => one !== id) : [...values, id]);
  return el('fieldset.stack', [
    el('legend', label),
    rows.length > fewMax && field(`Search ${label.toLowerCase()}`, { type: 'search', value: part, input: setPart }),
    el(
      'div.picks.stack.tight',
      matching.map(({ id, name }, n) =>
        h(
          Tick,
          // At least one is required: the browser marks the first.
          {
            key: id,
            checked: values.includes(id),
            required: values.length === 0 && n === 0,
            onChange: () => toggle(id),
          },
          name,
        ),
      ),
    ),
  ]);
}

const optionOf = ({ id, name, workspace_name }: Pickable) =>
  [id, workspace_name === undefined ? name : `${name} · ${workspace_name}`] as const;

type TickProps = {
  type?: 'checkbox' | 'radio';
  name?: string;
  checked: boolean;
  required?: boolean;
  onChange: () => void;
  children?: ComponentChildren;
};

export const Tick = ({ type = 'checkbox', children, ...input }: TickProps) =>
  el('label.tick', h('input', { type, ...input }), el('span', children));
