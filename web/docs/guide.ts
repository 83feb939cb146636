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

/** What holds for all operations. */
export function Guide({ document }: Props) {
  const { description, version } = document.info;
  return [
    h(
      'p',
      { class: 'lead' },
      prose(`${description} This page is made from `),
      h('a', { href: '/openapi.json' }, 'openapi.json'),
      `, version ${version}; its examples are what a service with the starter records answers.`,
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
        'A key goes with every request, as `Authorization: Bearer KEY`. Keys are for servers: do not send one to a ' +
          "visitor's browser. A key that is missing, unknown, expired, revoked or of another kind gets the same 401, " +
          'and what lies outside its reach answers as if it did not exist. Make one with `backscroll keys create`; its ' +
          'secret is shown once.',
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
        'A conversation is read from its newest message back: ask for a page, then for the next with `first_id`, the id ' +
          'of the oldest message you hold, until `has_more` is false. Each message is seen once, whatever is added ' +
          'meanwhile. The `Link` header with `rel="next"` is that next request, ready made. `page_order=oldest_first` turns ' +
          'a page around and nothing else.',
      ),
    ),
    h(
      'p',
      null,
      prose(
        'The lists under `/admin` go on with `cursor`: the `next_cursor` of the page before, as it is, until that is null.',
      ),
    ),
    h(
      'p',
      null,
      prose(
        'Pages and child chunks carry an `ETag`. Sent back as `If-None-Match` it saves the body where nothing has changed ' +
          '(304); as `If-Match` with a PATCH it keeps you from replacing a text you have not seen (412).',
      ),
    ),
  ];
}

/** Every code there is; a test holds this list to the document's. */
const causes: readonly [number, string, string][] = [
  [400, 'invalid_param', 'A parameter or a field is missing, malformed or out of range; the message names it.'],
  [400, 'bad_request', 'The body is no JSON, or the request is no HTTP.'],
  [400, 'not_chat_app', "The key's app has no conversations."],
  [401, 'unauthorized', 'The key does not open this.'],
  [404, 'not_found', 'It does not exist, or not for this key.'],
  [405, 'method_not_allowed', 'The path takes other methods; `Allow` names them.'],
  [408, 'request_timeout', 'The request took too long to arrive.'],
  [412, 'precondition_failed', 'The text is no longer the one that `If-Match` names.'],
  [413, 'payload_too_large', 'The body is too large.'],
  [415, 'unsupported_media_type', 'The content type is not taken here.'],
  [429, 'too_many_requests', 'Come back after as many seconds as `Retry-After` says.'],
  [431, 'headers_too_large', 'The headers are too large.'],
  [500, 'internal_server_error', 'A fault of the service; `X-Request-Id` leads to its log.'],
  [503, 'service_unavailable', 'Overloaded, stopping or without its database; `Retry-After` says when to come back.'],
];

function Errors() {
  const example = { status: 404, code: 'not_found', message: 'conversation not exists' };
  return [
    h(
      'p',
      null,
      prose(
        'Every error has the same three fields. Programs go by `code`; `message` is for people. Every answer carries ' +
          '`X-Request-Id`, yours if you sent one.',
      ),
    ),
    h(CodeBlock, { label: 'An error', text: JSON.stringify(example, null, 2), isJson: true }),
    h(
      'div',
      { class: 'scroll-x', tabIndex: 0, role: 'region', 'aria-label': 'Codes of errors' },
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
