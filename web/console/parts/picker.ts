import { h, useState } from '../../shared/dom.ts';
import { SearchField } from './search-field.ts';
import { ErrorNote } from './ui.ts';
import type { All } from './use-all.ts';

export type Pickable = { id: string; name: string; workspace_name?: string };

/** With more options than this, there is a search field. */
const fewMax = 15;

type Props = { label: string; all: All<Pickable>; none: string; value: string; choose: (id: string) => void };

/** A choice of one option, by name. */
export function Picker({ label, all: { rows, error, reload }, none, value, choose }: Props) {
  const [part, setPart] = useState('');
  if (error !== undefined) return h(ErrorNote, { error, retry: reload });
  if (rows === undefined) return h('p', { class: 'soft', role: 'status' }, 'Loading…');
  if (rows.length === 0) return h('p', { class: 'note' }, none);
  const matching = rows.filter(({ id, name }) => id === value || isPart(part, name, id));
  return h(
    'div',
    { class: 'stack' },
    rows.length > fewMax && h(SearchField, { label: `Search ${label.toLowerCase()}`, value: part, change: setPart }),
    h(
      'label',
      null,
      label,
      h(
        'select',
        { required: true, value, onChange: (event: Event) => choose((event.target as HTMLSelectElement).value) },
        h('option', { value: '' }, matching.length === 0 ? 'No match' : 'Choose…'),
        matching.map((row) => h('option', { value: row.id }, titleOf(row))),
      ),
    ),
  );
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
  const matching = rows.filter(({ id, name }) => values.includes(id) || isPart(part, name, id));
  const toggle = (id: string) => choose(values.includes(id) ? values.filter((one) => one !== id) : [...values, id]);
  return h(
    'fieldset',
    { class: 'stack' },
    h('legend', null, label),
    rows.length > fewMax && h(SearchField, { label: `Search ${label.toLowerCase()}`, value: part, change: setPart }),
    h(
      'div',
      { class: 'picks' },
      matching.map(({ id, name }, n) =>
        h(
          'label',
          { key: id, class: 'tick' },
          h('input', {
            type: 'checkbox',
            checked: values.includes(id),
            // At least one is required: the browser marks the first.
            required: values.length === 0 && n === 0,
            onChange: () => toggle(id),
          }),
          h('span', null, name),
        ),
      ),
    ),
  );
}

const isPart = (part: string, name: string, id: string): boolean =>
  name.toLowerCase().includes(part.trim().toLowerCase()) || id === part.trim();

const titleOf = ({ name, workspace_name }: Pickable): string =>
  workspace_name === undefined ? name : `${name} · ${workspace_name}`;
