import type { ErrorCode } from '../contract/error.ts';

/** An error that is returned to the client. Any other error is internal, and its message is not returned. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly retryAfterSeconds: number | undefined;
  /** Set if a valid key is not allowed because of its kind. It is logged; the client is not told. */
  wrongKindKey?: string;

  constructor(code: ErrorCode, message: string, retryAfterSeconds?: number) {
    super(message);
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export const invalidParam = (message: string) => new ServiceError('invalid_param', message);
export const notFound = (message: string) => new ServiceError('not_found', message);
export const unavailable = (message: string) => new ServiceError('service_unavailable', message, 1);
/** The response is never sent: it ends what the request has started. */
export const clientDisconnected = () => unavailable('the client has disconnected');

/** One object for all requests: creating an error takes longer than rejecting a request. */
export const overloaded = unavailable('the service is overloaded, try again');

/** A rejected line of an import: `line 17: message: conversation_id does not exist`. */
export class BadRecord extends ServiceError {
  /** `source` is the name of the file, if an import reads several. */
  constructor(line: number, kind: string | undefined, problem: string, source?: string) {
    const location = source === undefined ? `line ${line}` : `${source}: line ${line}`;
    super('invalid_param', [location, kind, problem].filter((part) => part !== undefined).join(': '));
  }
}
