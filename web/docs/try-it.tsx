import { useState } from 'preact/hooks';
import { CodeBlock } from '../shared/code-block.tsx';
import { Button, Field, Select } from '../shared/controls.tsx';
import type { Operation, Parameter } from './document.ts';
import { type ShownResponse, send } from './send.ts';
import type { Shared } from './snippets/snippet-view.tsx';
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
  return (
    <form class="stack try" onSubmit={submit}>
      {kind !== undefined && (
        <KeyField kinds={kinds} kind={kind} setKind={setKind} shared={shared} allowsSession={allowsSession} />
      )}
      {parameters.map((parameter) => (
        <ParameterField
          key={parameter.name}
          parameter={parameter}
          value={filled.values[parameter.name] ?? ''}
          set={(value: string) => set(parameter.name, value)}
        />
      ))}
      {body !== undefined && (
        <label>
          Body ({body.type})
          <textarea
            class="mono"
            rows={Math.min(12, filled.body.split('\n').length + 1)}
            value={filled.body}
            spellcheck={false}
            onInput={({ currentTarget }) => fill({ ...filled, body: currentTarget.value })}
          />
        </label>
      )}
      <div class="row">
        <button type="submit" class="primary" disabled={state.at === 'sending'}>
          {state.at === 'sending' ? 'Sending…' : 'Send'}
        </button>
        <Button onClick={() => fill(exampleRequest(operation))}>Reset to the example</Button>
        {method !== 'GET' && <span class="badge warn">changes data</span>}
      </div>
      <div aria-live="polite">
        <Outcome state={state} />
      </div>
    </form>
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
  return (
    <div class="row key-field">
      {kinds.length > 1 && (
        <Select label="Kind of key" value={kind} options={kinds.map((one) => [one, one] as const)} change={setKind} />
      )}
      <Field
        label={`Key of kind ${kind}`}
        type="password"
        autoComplete="off"
        spellcheck={false}
        value={shared.keys[kind] ?? ''}
        placeholder={allowsSession ? 'empty: your console session' : 'cleared when you leave this page'}
        input={(key) => shared.storeKey(kind, key)}
      />
    </div>
  );
}

type FieldProps = { parameter: Parameter; value: string; set: (value: string) => void };

function ParameterField({ parameter, value, set }: FieldProps) {
  const { name, required = false, schema } = parameter;
  const label = (
    <span>
      <code>{name}</code>
      {!required && <span class="soft"> optional</span>}
    </span>
  );
  if (schema.enum !== undefined) {
    const none = required ? [] : [['', '—'] as const];
    const options = [...none, ...schema.enum.map((one) => [String(one), String(one)] as const)];
    return <Select label={label} value={value} required={required} options={options} change={set} />;
  }
  return (
    <Field
      label={label}
      class="mono"
      value={value}
      required={required}
      autoComplete="off"
      spellcheck={false}
      inputMode={schema.type === 'integer' ? 'numeric' : 'text'}
      input={set}
    />
  );
}

function Outcome({ state }: { state: State }) {
  if (state.at === 'failed') return <p class="note bad">The service cannot be reached.</p>;
  if (state.at !== 'done') return null;
  const { status, statusText, millis, headers, text, isJson, isTruncated } = state.shown;
  return (
    <div class="stack">
      <p class="row">
        <span class={`badge ${status < 400 ? 'good' : 'bad'}`}>
          {status} {statusText}
        </span>
        <span class="soft">{Math.round(millis)} ms</span>
      </p>
      <dl class="values small">
        {headers.map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd class="mono">{value}</dd>
          </>
        ))}
      </dl>
      {isTruncated && <p class="note">Only the beginning is shown.</p>}
      {text !== '' && <CodeBlock label="The response" text={text} isJson={isJson} />}
    </div>
  );
}
