/** The base class of all errors of a client. No error contains the key. */
export class BackscrollError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** No response in the time for one attempt. It is not known whether the request was executed. */
export class Timeout extends BackscrollError {}

/** The service could not be reached, or the connection broke. It is not known whether the request was executed. */
export class Connection extends BackscrollError {}

/** The caller's `AbortSignal` ended the call; `cause` is the signal's reason. */
export class Aborted extends BackscrollError {}

export type ApiErrorDetails = {
  status: number;
  code: string;
  requestId: string | undefined;
  retryAfter: number | undefined;
};

/** The service responded with an error. This class itself is used only for codes that this version does not know. */
export class ApiError extends BackscrollError {
  /** The HTTP status. */
  readonly status: number;
  /** The error code, for programs: `not_found`, `invalid_param`, … */
  readonly code: string;
  /** `X-Request-Id` of the response, to find the request in the service's log. */
  readonly requestId: string | undefined;
  /** Seconds after which to retry, if the service sent `Retry-After`. */
  readonly retryAfter: number | undefined;

  constructor(message: string, { status, code, requestId, retryAfter }: ApiErrorDetails) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }
}

/** 400 `invalid_param`: a parameter or body field is missing, malformed or out of range; the message names it. */
export class InvalidParam extends ApiError {}
/** 400 `invalid_metadata`: `metadata` of a document is not one of its three values. */
export class InvalidMetadata extends ApiError {}
/** 400 `bad_request`: the service could not read the request. */
export class BadRequest extends ApiError {}
/** 400 `not_chat_app`: the key's app has no conversations. */
export class NotChatApp extends ApiError {}
/** 401 `unauthorized`: the key is unknown, expired, revoked or of another kind. */
export class Unauthorized extends ApiError {}
/** 403 `forbidden`: the key is read-only. */
export class Forbidden extends ApiError {}
/** 404 `not_found`: it does not exist, or the key has no access to it. */
export class NotFound extends ApiError {}
/** 405 `method_not_allowed`: usually a wrong `baseUrl`. */
export class MethodNotAllowed extends ApiError {}
/** 408 `request_timeout`: the request took too long to arrive. */
export class RequestTimeout extends ApiError {}
/** 410 `cursor_gone`: the cursor of the change feed is no longer valid; start again without it. */
export class CursorGone extends ApiError {}
/** 412 `precondition_failed`: the text has changed since the version of `ifMatch`. Nothing was changed by this request. */
export class PreconditionFailed extends ApiError {}
/** 413 `payload_too_large`. */
export class PayloadTooLarge extends ApiError {}
/** 415 `unsupported_media_type`. */
export class UnsupportedMediaType extends ApiError {}
/** 429 `too_many_requests`: retry after `retryAfter` seconds. */
export class TooManyRequests extends ApiError {}
/** 431 `headers_too_large`. */
export class HeadersTooLarge extends ApiError {}
/** 500 `internal_server_error`: an error in the service. */
export class InternalServerError extends ApiError {}
/** 501 `not_implemented`: the operation needs an upstream, or the request used a transfer coding other than chunked. */
export class NotImplemented extends ApiError {}
/** 502 `bad_gateway`: the upstream of the service is not available. */
export class BadGateway extends ApiError {}
/** 503 `service_unavailable`: overloaded, shutting down or without its database. */
export class ServiceUnavailable extends ApiError {}
/** 504 `gateway_timeout`: the upstream of the service is too slow. */
export class GatewayTimeout extends ApiError {}
/** A response that is not from the service: an error page of a proxy, a redirect, another server at `baseUrl`. */
export class UnexpectedResponse extends ApiError {}
