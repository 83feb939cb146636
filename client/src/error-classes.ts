import * as errors from './errors.ts';
import type { ErrorResponse } from './types.ts';

const classes: Readonly<Record<ErrorResponse['code'], typeof errors.ApiError>> = {
  invalid_param: errors.InvalidParam,
  invalid_metadata: errors.InvalidMetadata,
  bad_request: errors.BadRequest,
  not_chat_app: errors.NotChatApp,
  unauthorized: errors.Unauthorized,
  forbidden: errors.Forbidden,
  not_found: errors.NotFound,
  method_not_allowed: errors.MethodNotAllowed,
  request_timeout: errors.RequestTimeout,
  cursor_gone: errors.CursorGone,
  precondition_failed: errors.PreconditionFailed,
  payload_too_large: errors.PayloadTooLarge,
  unsupported_media_type: errors.UnsupportedMediaType,
  too_many_requests: errors.TooManyRequests,
  headers_too_large: errors.HeadersTooLarge,
  internal_server_error: errors.InternalServerError,
  not_implemented: errors.NotImplemented,
  bad_gateway: errors.BadGateway,
  service_unavailable: errors.ServiceUnavailable,
  gateway_timeout: errors.GatewayTimeout,
};

/** The class for a code; codes of later versions get the base class. */
export function classOf(code: string): typeof errors.ApiError {
  return Object.hasOwn(classes, code) ? classes[code as ErrorResponse['code']] : errors.ApiError;
}
