import { choice, integer, shape, text } from './primitives.ts';

/** All error codes of the API. */
export const errorCodes = [
  'invalid_param',
  'invalid_metadata',
  'bad_request',
  'not_chat_app',
  'unauthorized',
  'forbidden',
  'not_found',
  'method_not_allowed',
  'request_timeout',
  'cursor_gone',
  'precondition_failed',
  'payload_too_large',
  'unsupported_media_type',
  'too_many_requests',
  'headers_too_large',
  'internal_server_error',
  'not_implemented',
  'bad_gateway',
  'service_unavailable',
  'gateway_timeout',
] as const;

export type ErrorCode = (typeof errorCodes)[number];

export const ErrorBody = shape(
  {
    status: integer('The HTTP status.'),
    code: choice(errorCodes, 'Error code, for programs.'),
    message: text('Error message, for people.'),
  },
  { title: 'Error', description: 'Every error response has this shape.' },
);
