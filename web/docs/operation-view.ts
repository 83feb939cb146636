import { CodeBlock } from '../shared/code-block.ts';
import { Fold } from '../shared/controls.ts';
import { el, h, useState } from '../shared/dom.ts';
import { type Document, exampleOf, nameIn, type Operation, type ResponseDescription } from './document.ts';
import { pathText, prose } from './prose.ts';
import { Entry, Notes, SchemaView } from './schema-view.ts';
import { type Shared, SnippetView } from './snippets/snippet-view.ts';
import { exampleRequest } from './snippets/snippets.ts';
import { TryIt } from './try-it.ts';

type Props = { document: Document; operation: Operation; shared: Shared };

/** One operation: its parameters and responses on one side, how to call it on the other. */
export function OperationView({ document, operation, shared }: Props) {
  const { operationId, method, path, summary, description, parameters, body, responses } = operation;
  const [filled, fill] = useState(() => exampleRequest(operation));
  const example = exampleOf(operation);
  const descriptions = Object.entries(responses);
  return h('article', { id: operationId, class: 'operation', 'aria-labelledby': `${operationId}-title` }, [
    el('div.description.stack', [
      h('h1', { id: `${operationId}-title` }, summary),
      el('p.call.row', h(Method, { method }), el('code', pathText(path))),
      h(RequiredKey, { operation }),
      description !== undefined && el('p', prose(description)),
      Object.entries(titles).map(([place, title]) =>
        h(Parameters, { key: place, document, title, all: parameters.filter((one) => one.in === place) }),
      ),
      body !== undefined &&
        el('section.stack.tight', [
          el('h2', 'Body ', el('span.type', body.type)),
          body.schema.properties === undefined && body.schema.$ref === undefined
            ? h(Notes, { schema: body.schema })
            : h(SchemaView, { document, schema: body.schema, isRequest: true }),
        ]),
      el('h2', 'Responses'),
      descriptions
        .filter(([status]) => status < '400')
        .map(([status, response]) => h(Success, { key: status, document, status, response })),
      h(ErrorResponses, { errors: descriptions.filter(([status]) => status >= '400') }),
    ]),
    el('div.shown.stack', [
      h(SnippetView, { operation, filled, shared }),
      el('details', el('summary', 'Try it'), h(TryIt, { operation, filled, fill, shared })),
      example !== undefined &&
        h(CodeBlock, {
          label: `Example response ${example.status}`,
          text: JSON.stringify(example.example, null, 2),
          isJson: true,
        }),
    ]),
  ]);
}

const titles = { path: 'In the path', query: 'In the query', header: 'Headers' };

export function Method({ method }: { method: string }) {
  return h('span', { class: `method ${method.toLowerCase()}` }, method);
}

function RequiredKey({ operation: { kinds, allowsSession } }: { operation: Operation }) {
  if (kinds.length === 0) return el('p.soft', allowsSession ? 'Requires a console session.' : 'Requires no key.');
  return el('p.soft', [
    'Requires a ',
    h('a', { href: '#about-keys' }, 'key'),
    ' of kind ',
    kinds.map((kind, at) => [at > 0 && ' or ', h('span', { key: kind, class: 'badge' }, kind)]),
    allowsSession && ' or a console session',
  ]);
}

type ParameterProps = { document: Document; title: string; all: Operation['parameters'] };

/** Parameters look like the fields of a body. */
function Parameters({ document, title, all }: ParameterProps) {
  if (all.length === 0) return null;
  const properties = Object.fromEntries(all.map(({ name, schema, description }) => [name, { ...schema, description }]));
  const required = all.filter((one) => one.required).map(({ name }) => name);
  return el('section.stack.tight', [
    el('h2', title),
    h(SchemaView, { document, schema: { properties, required }, isRequest: true }),
  ]);
}

type SuccessProps = { document: Document; status: string; response: ResponseDescription };

function Success({ document, status, response }: SuccessProps) {
  const [content] = Object.entries(response.content ?? {});
  const headers = Object.entries(response.headers ?? {});
  return el('section.stack.tight', [
    el('p.field.row', [
      el('span.badge.good', status),
      content !== undefined && el('span.type', content[0]),
      el('span', prose(response.description)),
    ]),
    content?.[0] === 'application/json' && h(SchemaView, { document, schema: content[1].schema }),
    headers.length > 0 &&
      h(Fold, {
        title: 'Headers if a rate limit applies',
        content: () =>
          el('ul.fields.plain', [
            headers.map(([name, { $ref }]) =>
              h(Entry, { key: name, name, notes: document.components.headers[nameIn($ref)] ?? {} }),
            ),
          ]),
      }),
  ]);
}

function ErrorResponses({ errors }: { errors: [string, ResponseDescription][] }) {
  if (errors.length === 0) return null;
  return el('dl.values', [
    errors.map(([status, { description }]) => [el('dt.badge.bad', status), el('dd', prose(description))]),
  ]);
}
