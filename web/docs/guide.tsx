import type { ComponentChildren } from 'preact';
import { CodeBlock } from '../shared/code-block.tsx';
import { Fold } from '../shared/controls.tsx';
import type { Document, Operation } from './document.ts';
import { prose } from './prose.tsx';
import { SchemaView } from './schema-view.tsx';
import { type Shared, SnippetView } from './snippets/snippet-view.tsx';
import { exampleRequest, type Filled } from './snippets/snippets.ts';

type Props = { document: Document; operations: readonly Operation[]; shared: Shared };
type GuideEntry = {
  id: string;
  title: string;
  view: (props: Props) => ComponentChildren;
  text?: (document: Document) => string;
};

/** `text`: words by which the filter finds a guide, besides those of its title and its paragraphs. */
export const guides: readonly GuideEntry[] = [
  { id: 'about-quick-start', title: 'Quick start', view: QuickStart },
  { id: 'about-keys', title: 'Keys', view: Keys },
  { id: 'about-paging', title: 'Paging', view: Paging },
  { id: 'about-errors', title: 'Errors', view: Errors },
  { id: 'about-records', title: 'Record fields', view: Records, text: recordWords },
];

/** Rules of all operations. */
export function Guide(props: Props) {
  const { document } = props;
  const { description, version } = document.info;
  return (
    <>
      <h1>API reference</h1>
      <p class="lead">
        {prose(`${description} This page is made from `)}
        <a href="/openapi.json">openapi.json</a>; its examples are responses of a service with the starter records. This
        is version {version} of the API, served by version {document.info['x-backscroll-version']} of Backscroll.
      </p>
      {guides.map(({ id, title, view: View }) => (
        <section key={id} id={id} class="guide stack">
          <h2>{title}</h2>
          <View {...props} />
        </section>
      ))}
    </>
  );
}

const paragraph = (text: string) => <p>{prose(text)}</p>;

/** From a key to a message that was read, with the requests of two operations. */
function QuickStart({ operations, shared }: Props) {
  const snippet = (id: string, values: Filled['values'] = {}) => {
    const operation = operations.find(({ operationId }) => operationId === id);
    if (operation === undefined) return null;
    const { values: example, body } = exampleRequest(operation);
    return <SnippetView operation={operation} filled={{ values: { ...example, ...values }, body }} shared={shared} />;
  };
  const sent = operations.find(({ operationId }) => operationId === 'importRecords')?.body?.example;
  const [, conversation_id = ''] = /"conversation_id":"([^"]+)"/.exec(String(sent)) ?? [];
  return (
    <>
      {paragraph(
        '1. Create two keys of an app: a writer key for the back end that appends messages, an app key for what reads them. ' +
          'Each command prints a secret; the examples read them from the variables `WRITER_KEY` and `APP_KEY`.',
      )}
      <CodeBlock
        label="Create keys"
        text={
          'npx backscroll keys create --kind writer --app APP_ID --name "chat back end"\n' +
          'npx backscroll keys create --kind app --app APP_ID --name website'
        }
      />
      {paragraph(
        '2. Append a conversation with its first message. IDs are yours; sending the same again changes nothing.',
      )}
      {snippet('importRecords')}
      {paragraph('3. Read it.')}
      {snippet('getConversationHistory', { conversation_id, limit: '', first_id: '' })}
    </>
  );
}

function Keys({ document }: Props) {
  return (
    <>
      {paragraph(
        'Send a key with every request, as `Authorization: Bearer KEY`. Keys are for servers: do not send one to a ' +
          "visitor's browser. A key that is missing, unknown, expired or revoked gets the same 401; a key of another kind is told which kind is needed. " +
          'For records outside its scope, the response is as if they did not exist. Create a key with ' +
          '`npx backscroll keys create`; its secret is shown once. Each operation has a request to copy, for curl, Python and ' +
          'TypeScript.',
      )}
      <ul>
        {Object.entries(document.components.securitySchemes).map(([name, { description }]) => (
          <li key={name}>{prose(description)}</li>
        ))}
      </ul>
    </>
  );
}

function Paging() {
  return [
    paragraph(
      'Read a conversation from its newest message back: request a page, then the next with `first_id`, the id of ' +
        'the oldest message of the page, until `has_more` is false. You get each message once, even if messages are ' +
        'added meanwhile. The `Link` header with `rel="next"` has the address of the next request. ' +
        '`page_order=oldest_first` reverses the order within a page and changes nothing else.',
    ),
    paragraph(
      'Lists under `/admin` continue with `cursor`: send the `next_cursor` of the previous page unchanged, until it is null.',
    ),
    paragraph(
      'Pages and child chunks have an `ETag`. Sent as `If-None-Match`, it saves the body if nothing has changed (304). ' +
        'Sent as `If-Match` with a PATCH, it prevents overwriting a text that you have not read (412).',
    ),
  ];
}

/** What a client should do, by the status of an error. */
const handled: Readonly<Record<number, string>> = {
  400: 'Do not retry: fix the request that `message` describes.',
  401: 'Do not retry: the key is unknown, expired or revoked.',
  404: 'It was deleted, or it never existed for this key.',
  412: 'Read it again, and decide what to do with the text that someone else wrote.',
  429: 'Wait as long as `Retry-After` says, then retry.',
  503: 'Wait as long as `Retry-After` says, then retry; a write that sets a value can be repeated.',
};

const errorExample = `HTTP 429
Retry-After: 3

${JSON.stringify({ status: 429, code: 'too_many_requests', message: 'more than 50 requests a second' }, null, 2)}`;

function Errors({ document }: Props) {
  return (
    <>
      {paragraph(
        'Every error has the same three fields. Programs use `code`; `message` is for people. Every response has ' +
          '`X-Request-Id`: yours if you sent one.',
      )}
      <CodeBlock label="Example of an error" text={errorExample} />
      <div class="scroll-x" tabIndex={0} role="region" aria-label="Error codes">
        <table>
          <thead>
            <tr>
              <th>Status</th>
              <th>Code</th>
              <th>When</th>
              <th>What to do</th>
            </tr>
          </thead>
          <tbody>
            {document['x-errors'].map(({ status, code, when }) => (
              <tr key={code}>
                <td>{status}</td>
                <td>
                  <code>{code}</code>
                </td>
                <td>{prose(when)}</td>
                <td>{prose(handled[status] ?? '')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** The names of all kinds and fields, for the filter. */
function recordWords(document: Document): string {
  return document['x-records']
    .map(({ kind, schema }) => `${kind} ${Object.keys(schema.properties ?? {}).join(' ')}`)
    .join(' ');
}

/** The records that are imported and exported: their fields, with an example of each kind. */
function Records({ document }: { document: Document }) {
  return (
    <>
      <p>
        {prose(
          'All data is imported and exported as lines of JSON, one record per line, parents before children: by ' +
            '`npx backscroll import`, or with ',
        )}
        <a href="#importRecords">Import records</a>. A record replaces the stored one with the same id. A field that is
        not required has a default.
      </p>
      {document['x-records'].map(({ kind, schema, example }) => {
        const { record: _, ...properties } = schema.properties ?? {};
        return (
          <Fold key={kind} title={kind}>
            <div class="stack">
              <SchemaView schema={{ ...schema, properties }} isRequest />
              <CodeBlock label="Example" text={JSON.stringify(example, null, 2)} isJson />
            </div>
          </Fold>
        );
      })}
    </>
  );
}
