import { h, useState } from '../shared/dom.ts';
import { Select } from '../shared/select.ts';
import type { Operation, Parameter } from './document.ts';
import { type ShownResponse, send } from './send.ts';
import type { Shared } from './shared-state.ts';
import { CodeBlock } from './snippets/code-block.ts';
import { exampleRequest, type Filled } from './snippets/snippets.ts';

type Props = { operation: Operation; filled: Filled; fill: (filled: Filled) => void; shared: Shared };
type State = { at: 'rest' } | { at: 'sending' } | { at: 'failed' } | { at: 'done'; shown: ShownResponse };

/** Sends the request, as filled in, to this service. */
export function TryIt({ operation, filled, fill, shared }: Props) {
  const { parameters, body, kinds, method, allowsSession } = operation;
  const [kind, setKind] = useState(kinds[0]);
  const [state, setState] = useState<State>({ at: 'rest' });
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setState({ at: 'sending' });
    const key = kind === undefined ? '' : (shared.keys[kind] ?? '').trim();
    await send(operation, filled, key).then(
      (shown) => setState({ at: 'done', shown }),
      () => setState({ at: 'failed' }),
    );
  };
  const set = (name: string, value: string) => fill({ ...filled, values: { ...filled.values, [name]: value } });
  return h(
    'form',
    { class: 'stack try', onSubmit: submit },
    kind !== undefined && h(KeyField, { kinds, kind, setKind, shared, allowsSession }),
    parameters.map((parameter) =>
      h(ParameterField, {
        key: parameter.name,
        parameter,
        value: filled.values[parameter.name] ?? '',
        set: (value: string) => set(parameter.name, value),
      }),
    ),
    body !== undefined &&
      h(
        'label',
        null,
        `Body (${body.type})`,
        h('textarea', {
          class: 'mono',
          rows: Math.min(12, filled.body.split('\n').length + 1),
          value: filled.body,
          spellCheck: false,
          onInput: (event: Event) => fill({ ...filled, body: (event.target as HTMLTextAreaElement).value }),
        }),
      ),
    h(
      'div',
      { class: 'row' },
      h('button', { class: 'primary', disabled: state.at === 'sending' }, state.at === 'sending' ? 'Sending…' : 'Send'),
      h('button', { type: 'button', onClick: () => fill(exampleRequest(operation)) }, 'Reset to the example'),
      method !== 'GET' && h('span', { class: 'badge warn' }, 'changes data'),
    ),
    h('div', { 'aria-live': 'polite' }, h(Outcome, { state })),
  );
}

type KeyProps = {
  kinds: string[];
  kind: string;
  setKind: (kind: string) => void;
  shared: Shared;
  allowsSession: boolean;
};

function KeyField({ kinds, kind, setKind, shared, allowsSession }: KeyProps) {
  return h(
    'div',
    { class: 'key-field' },
    kinds.length > 1 &&
      h(Select, {
        label: 'Kind of key',
        value: kind,
        options: kinds.map((one) => [one, one] as const),
        change: setKind,
      }),
    h(
      'label',
      null,
      `Key of kind ${kind}`,
      h('input', {
        type: 'password',
        autoComplete: 'off',
        spellCheck: false,
        value: shared.keys[kind] ?? '',
        placeholder: allowsSession ? 'empty: your session of the console' : 'cleared when you leave this page',
        onInput: (event: Event) => shared.storeKey(kind, (event.target as HTMLInputElement).value),
      }),
    ),
  );
}

type FieldProps = { parameter: Parameter; value: string; set: (value: string) => void };

function ParameterField({ parameter, value, set }: FieldProps) {
  const { name, required = false, schema } = parameter;
  const label = h('span', null, h('code', null, name), !required && h('span', { class: 'soft' }, ' optional'));
  if (schema.enum !== undefined) {
    const none = required ? [] : [['', '—'] as const];
    const options = [...none, ...schema.enum.map((one) => [String(one), String(one)] as const)];
    return h(Select, { label, value, required, options, change: set });
  }
  return h(
    'label',
    null,
    label,
    h('input', {
      class: 'mono',
      value,
      required,
      autoComplete: 'off',
      spellCheck: false,
      inputMode: schema.type === 'integer' ? 'numeric' : 'text',
      onInput: (event: Event) => set((event.target as HTMLInputElement).value),
    }),
  );
}

function Outcome({ state }: { state: State }) {
  if (state.at === 'failed') return h('p', { class: 'note bad' }, 'The service cannot be reached.');
  if (state.at !== 'done') return null;
  const { status, statusText, millis, headers, text, isJson, isTruncated } = state.shown;
  return h(
    'div',
    { class: 'stack' },
    h(
      'p',
      { class: 'row' },
      h('span', { class: `badge ${status < 400 ? 'good' : 'bad'}` }, `${status} ${statusText}`),
      h('span', { class: 'soft' }, `${Math.round(millis)} ms`),
    ),
    h(
      'dl',
      { class: 'headers' },
      headers.map(([name, value]) =>
        h('div', { key: name }, h('dt', { class: 'soft' }, name), h('dd', { class: 'mono' }, value)),
      ),
    ),
    isTruncated && h('p', { class: 'note' }, 'Only the beginning is shown.'),
    text !== '' && h(CodeBlock, { label: 'The response', text, isJson }),
  );
}
