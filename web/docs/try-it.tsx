import { useState } from 'preact/hooks';
import { CodeBlock } from '../shared/code-block.tsx';
import { Button, Field, Select, Terms } from '../shared/controls.tsx';
import type { Operation, Parameter } from './document.ts';
import { type ShownResponse, send } from './send.ts';
import type { Shared } from './snippets/snippet-view.tsx';
import { exampleRequest, type Filled } from './snippets/snippets.ts';

type Props = { operation: Operation; filled: Filled; fill: (filled: Filled) => void; shared: Shared };
type State = 'sending' | 'failed' | ShownResponse | undefined;

/** Sends the request, as filled in, to this service. */
export function TryIt({ operation, filled, fill, shared }: Props) {
  const { parameters, body, kinds, method, allowsSession } = operation;
  const [kind, setKind] = useState(kinds[0]);
  const [state, setState] = useState<State>();
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setState('sending');
    const key = kind === undefined ? '' : (shared.keys[kind] ?? '').trim();
    setState(await send(operation, filled, key).catch(() => 'failed' as const));
  };
  return (
    <form class="stack try" onSubmit={submit}>
      {kind !== undefined && (
        <div class="row key-field">
          {kinds.length > 1 && (
            <Select label="Kind of key" value={kind} options={kinds.map((one) => [one, one])} change={setKind} />
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
      )}
      {parameters.map((parameter) => (
        <ParameterField key={parameter.name} parameter={parameter} filled={filled} fill={fill} />
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
        <button type="submit" class="primary" disabled={state === 'sending'}>
          {state === 'sending' ? 'Sending…' : 'Send'}
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

function ParameterField({ parameter, filled, fill }: { parameter: Parameter } & Pick<Props, 'filled' | 'fill'>) {
  const { name, required = false, schema } = parameter;
  const value = filled.values[name] ?? '';
  const set = (value: string) => fill({ ...filled, values: { ...filled.values, [name]: value } });
  const label = (
    <span>
      <code>{name}</code>
      {!required && <span class="soft"> optional</span>}
    </span>
  );
  if (schema.enum !== undefined) {
    const values = [...(required ? [] : ['']), ...schema.enum.map(String)];
    const options = values.map((one) => [one, one || '—'] as const);
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
  if (state === 'failed') return <p class="note bad">The service cannot be reached.</p>;
  if (state === undefined || state === 'sending') return null;
  const { status, statusText, millis, headers, text, isJson, isTruncated } = state;
  return (
    <div class="stack">
      <p class="row">
        <span class={`badge ${status < 400 ? 'good' : 'bad'}`}>
          {status} {statusText}
        </span>
        <span class="soft">{Math.round(millis)} ms</span>
      </p>
      <Terms class="values small" rows={headers.map(([name, value]) => [name, value, 'mono'])} />
      {isTruncated && <p class="note">Only the beginning is shown.</p>}
      {text !== '' && <CodeBlock label="The response" text={text} isJson={isJson} />}
    </div>
  );
}
