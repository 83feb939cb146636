import { choice, integer, shape, text } from './primitives.ts';

/** The closed list of codes a caller can meet. */
export const errorCodes = [
  'invalid_param',
  'bad_request',
  'not_chat_app',
  'unauthorized',
  'not_found',
  'method_not_allowed',
  'request_timeout',
  'precondition_failed',
  'payload_too_large',
  'unsupported_media_type',
  'too_many_requests',
  'headers_too_large',
  'internal_server_error',
  'service_unavailable',
] as const;

export type ErrorCode = (typeof errorCodes)[number];

export const ErrorBody = shape(
  {
    status: integer('The HTTP status.'),
    code: choice(errorCodes, 'What went wrong, for programs.'),
    message: text('What went wrong, for people.'),
  },
  { title: 'Error', description: 'Every error, whatever was asked.' },
);
