import type { ErrorCode } from '../contract/error.ts';

/** What the service says no with. Anything else that is thrown is a fault of ours and stays inside. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, message: string, retryAfterSeconds?: number) {
    super(message);
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export const invalidParam = (message: string) => new ServiceError('invalid_param', message);
export const notFound = (message: string) => new ServiceError('not_found', message);
export const unavailable = (message: string) => new ServiceError('service_unavailable', message, 1);

/** One for all requests: making one takes longer than refusing. */
export const overloaded = unavailable('the service has too much to do, try again');

/** A line of records that cannot be taken: `line 17: message: conversation_id does not exist`. */
export class BadRecord extends ServiceError {
  /** `source` names the file where an import reads several. */
  constructor(line: number, kind: string | undefined, problem: string, source?: string) {
    const place = source === undefined ? `line ${line}` : `${source}: line ${line}`;
    super('invalid_param', [place, kind, problem].filter((part) => part !== undefined).join(': '));
  }
}
