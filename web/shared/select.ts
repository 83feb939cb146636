import { type ComponentChildren, h } from './dom.ts';

type Props = {
  label: ComponentChildren;
  value: string;
  options: readonly (readonly [value: string, text: string])[];
  change: (value: string) => void;
  class?: string;
  required?: boolean;
};

/** A choice of one option. */
export const Select = ({ label, value, options, change, class: name, required = false }: Props) =>
  h(
    'label',
    { class: name },
    label,
    h(
      'select',
      { value, required, onChange: (event: Event) => change((event.target as HTMLSelectElement).value) },
      options.map(([one, text]) => h('option', { key: one, value: one }, text)),
    ),
  );
