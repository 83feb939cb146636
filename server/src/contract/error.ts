import { choice, integer, keysOf, named, text } from './primitives.ts';

/** All error codes of the API, with their HTTP status, and when they occur. */
export const errorTable = {
  invalid_param: [400, 'A parameter or a field is missing, malformed or out of range; the message names it.'],
  invalid_metadata: [400, 'The parameter `metadata` of a document is none of its values.'],
  bad_request: [400, 'The body is not JSON, or the request is not HTTP.'],
  not_chat_app: [400, "The key's app has no conversations."],
  unauthorized: [401, 'The key does not allow this request.'],
  forbidden: [
    403,
    'The key is read-only, its role does not allow it, another system owns the data, or a foreign page sent a request to `/mcp`.',
  ],
  not_found: [404, 'It does not exist, or the key has no access to it.'],
  method_not_allowed: [405, 'The path has other methods; `Allow` lists them.'],
  request_timeout: [408, 'The request took too long to arrive.'],
  cursor_gone: [410, 'The cursor of the change feed is no longer valid: start again without it.'],
  precondition_failed: [412, 'The text is no longer the one that `If-Match` names.'],
  payload_too_large: [413, 'The body is too large.'],
  unsupported_media_type: [415, 'The content type is not supported by this operation.'],
  too_many_requests: [429, 'Retry after the number of seconds in `Retry-After`.'],
  headers_too_large: [431, 'The headers are too large.'],
  internal_server_error: [500, 'An error in the service; find it in the log by `X-Request-Id`.'],
  not_implemented: [501, 'The operation needs an upstream, or the body has a transfer coding other than chunked.'],
  bad_gateway: [502, 'The upstream is not available, or its response is not HTTP.'],
  service_unavailable: [503, 'Overloaded, stopping or without its database; retry after `Retry-After` seconds.'],
  gateway_timeout: [504, 'The upstream is too slow.'],
} as const satisfies Record<string, readonly [status: number, when: string]>;

export type ErrorCode = keyof typeof errorTable;

export const ErrorBody = named('Error', 'Every error response has this shape.', {
  status: integer('The HTTP status.'),
  code: choice(keysOf(errorTable), 'Error code, for programs.'),
  message: text('Error message, for people.'),
});
