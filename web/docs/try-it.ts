import { CodeBlock } from '../shared/code-block.ts';
import { Select } from '../shared/controls.ts';
import { button, el, field, h, typed, useState } from '../shared/dom.ts';
import type { Operation, Parameter } from './document.ts';
import { type ShownResponse, send } from './send.ts';
import type { Shared } from './snippets/snippet-view.ts';
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
  return h('form', { class: 'stack try', onSubmit: submit }, [
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
      el('label', [
        `Body (${body.type})`,
        h('textarea', {
          class: 'mono',
          rows: Math.min(12, filled.body.split('\n').length + 1),
          value: filled.body,
          spellcheck: false,
          onInput: typed((body) => fill({ ...filled, body })),
        }),
      ]),
    el('div.row', [
      h('button', { class: 'primary', disabled: state.at === 'sending' }, state.at === 'sending' ? 'Sending…' : 'Send'),
      button({ onClick: () => fill(exampleRequest(operation)) }, 'Reset to the example'),
      method !== 'GET' && el('span.badge.warn', 'changes data'),
    ]),
    h('div', { 'aria-live': 'polite' }, h(Outcome, { state })),
  ]);
}

type KeyProps = {
  kinds: string[];
  kind: string;
  setKind: (kind: string) => void;
  shared: Shared;
  allowsSession: boolean;
};

function KeyField({ kinds, kind, setKind, shared, allowsSession }: KeyProps) {
  return el('div.row.key-field', [
    kinds.length > 1 &&
      h(Select, {
        label: 'Kind of key',
        value: kind,
        options: kinds.map((one) => [one, one] as const),
        change: setKind,
      }),
    field(`Key of kind ${kind}`, {
      type: 'password',
      autoComplete: 'off',
      spellcheck: false,
      value: shared.keys[kind] ?? '',
      placeholder: allowsSession ? 'empty: your console session' : 'cleared when you leave this page',
      input: (key) => shared.storeKey(kind, key),
    }),
  ]);
}

type FieldProps = { parameter: Parameter; value: string; set: (value: string) => void };

function ParameterField({ parameter, value, set }: FieldProps) {
  const { name, required = false, schema } = parameter;
  const label = el('span', el('code', name), !required && el('span.soft', ' optional'));
  if (schema.enum !== undefined) {
    const none = required ? [] : [['', '—'] as const];
    const options = [...none, ...schema.enum.map((one) => [String(one), String(one)] as const)];
    return h(Select, { label, value, required, options, change: set });
  }
  return field(label, {
    class: 'mono',
    value,
    required,
    autoComplete: 'off',
    spellcheck: false,
    inputMode: schema.type === 'integer' ? 'numeric' : 'text',
    input: set,
  });
}

function Outcome({ state }: { state: State }) {
  if (state.at === 'failed') return el('p.note.bad', 'The service cannot be reached.');
  if (state.at !== 'done') return null;
  const { status, statusText, millis, headers, text, isJson, isTruncated } = state.shown;
  return el('div.stack', [
    el('p.row', [
      h('span', { class: `badge ${status < 400 ? 'good' : 'bad'}` }, `${status} ${statusText}`),
      el('span.soft', `${Math.round(millis)} ms`),
    ]),
    el('dl.values.small', [headers.map(([name, value]) => [el('dt', name), el('dd.mono', value)])]),
    isTruncated && el('p.note', 'Only the beginning is shown.'),
    text !== '' && h(CodeBlock, { label: 'The response', text, isJson }),
  ]);
}
