import { useState } from 'preact/hooks';
import { CodeBlock } from '../shared/code-block.tsx';
import { Fold, joined } from '../shared/controls.tsx';
import { exampleOf, type Operation, type ResponseDescription } from './document.ts';
import { pathText, prose } from './prose.tsx';
import { Entry, Notes, SchemaView } from './schema-view.tsx';
import { type Shared, SnippetView } from './snippets/snippet-view.tsx';
import { exampleRequest } from './snippets/snippets.ts';
import { TryIt } from './try-it.tsx';

/** One operation: its parameters and responses on one side, how to call it on the other. */
export function OperationView({ operation, shared }: { operation: Operation; shared: Shared }) {
  const { operationId, method, path, summary, description, parameters, body, responses } = operation;
  const [filled, fill] = useState(() => exampleRequest(operation));
  const example = exampleOf(operation);
  const descriptions = Object.entries(responses);
  return (
    <article id={operationId} class="operation" aria-labelledby={`${operationId}-title`}>
      <div class="description stack">
        <h1 id={`${operationId}-title`}>{summary}</h1>
        <p class="call row">
          <Method method={method} />
          <code>{pathText(path)}</code>
        </p>
        <RequiredKey operation={operation} />
        {description !== undefined && <p>{prose(description)}</p>}
        {Object.entries(titles).map(([place, title]) => (
          <Parameters key={place} title={title} all={parameters.filter((one) => one.in === place)} />
        ))}
        {body !== undefined && (
          <section class="stack tight">
            <h2>
              Body <span class="type">{body.type}</span>
            </h2>
            {body.schema.properties === undefined && body.schema.name === undefined ? (
              <Notes schema={body.schema} />
            ) : (
              <SchemaView schema={body.schema} isRequest />
            )}
          </section>
        )}
        <h2>Responses</h2>
        {descriptions
          .filter(([status]) => status < '400')
          .map(([status, response]) => (
            <Success key={status} status={status} response={response} />
          ))}
        <dl class="values">
          {descriptions
            .filter(([status]) => status >= '400')
            .map(([status, { description }]) => [<dt class="badge bad">{status}</dt>, <dd>{prose(description)}</dd>])}
        </dl>
      </div>
      <div class="shown stack">
        <SnippetView operation={operation} filled={filled} shared={shared} />
        <details>
          <summary>Try it</summary>
          <TryIt operation={operation} filled={filled} fill={fill} shared={shared} />
        </details>
        {example !== undefined && (
          <CodeBlock
            label={`Example response ${example.status}`}
            text={JSON.stringify(example.example, null, 2)}
            isJson
          />
        )}
      </div>
    </article>
  );
}

const titles = { path: 'In the path', query: 'In the query', header: 'Headers' };

export const Method = ({ method }: { method: string }) => (
  <span class={`method ${method.toLowerCase()}`}>{method}</span>
);

function RequiredKey({ operation: { kinds, allowsSession } }: { operation: Operation }) {
  if (kinds.length === 0)
    return <p class="soft">{allowsSession ? 'Requires a console session.' : 'Requires no key.'}</p>;
  return (
    <p class="soft">
      Requires a <a href="#about-keys">key</a> of kind{' '}
      {joined(
        kinds.map((kind) => <span class="badge">{kind}</span>),
        ' or ',
      )}
      {allowsSession && ' or a console session'}
    </p>
  );
}

/** Parameters look like the fields of a body. */
function Parameters({ title, all }: { title: string; all: Operation['parameters'] }) {
  if (all.length === 0) return null;
  const properties = Object.fromEntries(all.map(({ name, schema, description }) => [name, { ...schema, description }]));
  const required = all.filter((one) => one.required).map(({ name }) => name);
  return (
    <section class="stack tight">
      <h2>{title}</h2>
      <SchemaView schema={{ properties, required }} isRequest />
    </section>
  );
}

function Success({ status, response }: { status: string; response: ResponseDescription }) {
  const [content] = Object.entries(response.content ?? {});
  const headers = Object.entries(response.headers ?? {});
  return (
    <section class="stack tight">
      <p class="field row">
        <span class="badge good">{status}</span>
        {content !== undefined && <span class="type">{content[0]}</span>}
        <span>{prose(response.description)}</span>
      </p>
      {content?.[0] === 'application/json' && <SchemaView schema={content[1].schema} />}
      {headers.length > 0 && (
        <Fold title="Headers if a rate limit applies">
          <ul class="fields plain">
            {headers.map(([name, notes]) => (
              <Entry key={name} name={name} notes={notes} />
            ))}
          </ul>
        </Fold>
      )}
    </section>
  );
}
