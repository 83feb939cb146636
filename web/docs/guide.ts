import { h } from '../shared/dom.ts';
import { CodeBlock } from './code-block.ts';
import type { Document } from './document.ts';
import { prose } from './prose.ts';

export const guides = [
  { id: 'about-keys', title: 'Keys', view: Keys },
  { id: 'about-paging', title: 'Paging', view: Paging },
  { id: 'about-errors', title: 'Errors', view: Errors },
] as const;

type Props = { document: Document };

/** What applies to all operations. */
export function Guide({ document }: Props) {
  const { description, version } = document.info;
  return [
    h(
      'p',
      { class: 'lead' },
      prose(`${description} This page is made from `),
      h('a', { href: '/openapi.json' }, 'openapi.json'),
      `, version ${version}; its examples are responses of a service with the starter records.`,
    ),
    guides.map(({ id, title, view }) =>
      h('section', { key: id, id, class: 'guide stack' }, h('h2', null, title), h(view, { document })),
    ),
  ];
}

function Keys({ document }: Props) {
  return [
    h(
      'p',
      null,
      prose(
        'Send a key with every request, as `Authorization: Bearer KEY`. Keys are for servers: do not send one to a ' +
          "visitor's browser. A key that is missing, unknown, expired, revoked or of another kind gets the same 401. " +
          'For records outside its scope, the response is as if they did not exist. Create a key with ' +
          '`npx backscroll keys create`; its secret is shown once.',
      ),
    ),
    h(
      'ul',
      null,
      Object.entries(document.components.securitySchemes).map(([name, { description }]) =>
        h('li', { key: name }, prose(description)),
      ),
    ),
  ];
}

function Paging() {
  return [
    h(
      'p',
      null,
      prose(
        'Read a conversation from its newest message back: request a page, then the next with `first_id`, the id of ' +
          'the oldest message of the page, until `has_more` is false. You get each message once, even if messages are ' +
          'added meanwhile. The `Link` header with `rel="next"` has the address of the next request. ' +
          '`page_order=oldest_first` reverses the order within a page and changes nothing else.',
      ),
    ),
    h(
      'p',
      null,
      prose(
        'Lists under `/admin` continue with `cursor`: send the `next_cursor` of the previous page unchanged, until it is null.',
      ),
    ),
    h(
      'p',
      null,
      prose(
        'Pages and child chunks have an `ETag`. Sent as `If-None-Match`, it saves the body if nothing has changed (304). ' +
          'Sent as `If-Match` with a PATCH, it prevents overwriting a text that you have not read (412).',
      ),
    ),
  ];
}

/** Every error code; a test compares this list with the document. */
const causes: readonly [number, string, string][] = [
  [400, 'invalid_param', 'A parameter or a field is missing, malformed or out of range; the message names it.'],
  [400, 'invalid_metadata', 'The parameter `metadata` of a document is none of its values.'],
  [400, 'bad_request', 'The body is not JSON, or the request is not HTTP.'],
  [400, 'not_chat_app', "The key's app has no conversations."],
  [401, 'unauthorized', 'The key does not allow this request.'],
  [403, 'forbidden', 'The key is read-only.'],
  [404, 'not_found', 'It does not exist, or the key has no access to it.'],
  [405, 'method_not_allowed', 'The path has other methods; `Allow` lists them.'],
  [408, 'request_timeout', 'The request took too long to arrive.'],
  [410, 'cursor_gone', 'The cursor of the change feed is no longer valid: start again without it.'],
  [412, 'precondition_failed', 'The text is no longer the one that `If-Match` names.'],
  [413, 'payload_too_large', 'The body is too large.'],
  [415, 'unsupported_media_type', 'The content type is not supported here.'],
  [429, 'too_many_requests', 'Retry after the number of seconds in `Retry-After`.'],
  [431, 'headers_too_large', 'The headers are too large.'],
  [500, 'internal_server_error', 'An error in the service; find it in the log by `X-Request-Id`.'],
  [501, 'not_implemented', 'The body has a transfer coding other than chunked.'],
  [503, 'service_unavailable', 'Overloaded, stopping or without its database; retry after `Retry-After` seconds.'],
];

function Errors() {
  const example = { status: 404, code: 'not_found', message: 'conversation not exists' };
  return [
    h(
      'p',
      null,
      prose(
        'Every error has the same three fields. Programs use `code`; `message` is for people. Every response has ' +
          '`X-Request-Id`: yours if you sent one.',
      ),
    ),
    h(CodeBlock, { label: 'An error', text: JSON.stringify(example, null, 2), isJson: true }),
    h(
      'div',
      { class: 'scroll-x', tabIndex: 0, role: 'region', 'aria-label': 'Error codes' },
      h(
        'table',
        null,
        h('thead', null, h('tr', null, h('th', null, 'Status'), h('th', null, 'Code'), h('th', null, 'When'))),
        h(
          'tbody',
          null,
          causes.map(([status, code, when]) =>
            h(
              'tr',
              { key: code },
              h('td', null, status),
              h('td', null, h('code', null, code)),
              h('td', null, prose(when)),
            ),
          ),
        ),
      ),
    ),
  ];
}
