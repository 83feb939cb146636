export * from './client.ts';
export {
  Aborted,
  ApiError,
  BackscrollError,
  BadRequest,
  Connection,
  HeadersTooLarge,
  InternalServerError,
  InvalidParam,
  MethodNotAllowed,
  NotChatApp,
  NotFound,
  PayloadTooLarge,
  PreconditionFailed,
  RequestTimeout,
  ServiceUnavailable,
  Timeout,
  TooManyRequests,
  Unauthorized,
  UnexpectedAnswer,
  UnsupportedMediaType,
} from './errors.ts';
export type { CallOptions, Fetch } from './transport.ts';
export type * from './types.ts';
