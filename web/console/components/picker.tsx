import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Field, Select, Status } from '../../shared/controls.tsx';
import type { All } from '../hooks/requests.ts';
import { contains } from './marked-text.tsx';
import { ErrorNote } from './ui.tsx';

export type Pickable = { id: string; name: string; workspace_name?: string };

/** With more options than this, there is a search field. */
const fewMax = 15;

type Props = { label: string; all: All<Pickable>; value: string | undefined; choose: (id: string) => void };

/** A choice of one option, by name. */
export function Picker({ label, all: { rows, isLoading, error, reload }, value = '', choose }: Props) {
  const [part, setPart] = useState('');
  if (error !== undefined) return <ErrorNote error={error} retry={reload} />;
  if (isLoading) return <Status>Loading…</Status>;
  if (rows.length === 0) return <p class="note">There are no {label.toLowerCase()}s yet. Import them as records.</p>;
  const matching = rows.filter(({ id, name }) => id === value || contains(part, name, id));
  const options = [['', matching.length === 0 ? 'No match' : 'Choose…'] as const, ...matching.map(optionOf)];
  return (
    <div class="stack">
      {rows.length > fewMax && searchField(label, part, setPart)}
      <Select label={label} required value={value} options={options} change={choose} />
    </div>
  );
}

const searchField = (label: string, part: string, input: (part: string) => void) => (
  <Field label={`Search ${label.toLowerCase()}`} type="search" value={part} input={input} />
);

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
  return (
    <fieldset class="stack">
      <legend>{label}</legend>
      {rows.length > fewMax && searchField(label, part, setPart)}
      <div class="picks stack tight">
        {matching.map(({ id, name }, n) => {
          const isRequired = values.length === 0 && n === 0;
          return (
            <Tick key={id} checked={values.includes(id)} required={isRequired} onChange={() => toggle(id)}>
              {name}
            </Tick>
          );
        })}
      </div>
    </fieldset>
  );
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

export const Tick = ({ type = 'checkbox', children, ...input }: TickProps) => (
  <label class="tick">
    <input type={type} {...input} />
    <span>{children}</span>
  </label>
);
