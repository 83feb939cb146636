import type { ErrorCode } from '../contract/error.ts';
import { type Problem, plainProblem } from '../contract/problem.ts';

type Details = {
  retryAfterSeconds?: number | undefined;
  /** The message without anything that the client sent. Default: the message. */
  logged?: string;
};

/**
 * Why a database server did not serve a request: it does not respond, a statement took too long, the connection was lost or
 * refused, the server has no disk space, memory or connections left, or all connections of this thread are in use. Or the
 * file of the embedded database has damaged pages.
 */
export type OutageCause = 'silent' | 'timeout' | 'connection' | 'resources' | 'busy' | 'damaged';
/** `node`: the node of a cluster as `host:port`; empty for the server in the database URL, or if it is not known. */
export type Outage = { cause: OutageCause; node: string };

/** An error that is returned to the client. Any other error is internal, and its message is not returned. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly retryAfterSeconds: number | undefined;
  /** The message for the log. */
  readonly logged: string;
  /** The id of a valid key that is not allowed because of its kind. It is logged. */
  wrongKindKey?: string;
  /** If the database is the reason. It is counted. */
  outage?: Outage;

  constructor(code: ErrorCode, message: string, { retryAfterSeconds, logged = message }: Details = {}) {
    super(message);
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
    this.logged = logged;
  }
}

/** `logged`: the message without anything that the client sent, if it differs. */
export const invalidParam = (message: string, logged = message) =>
  new ServiceError('invalid_param', message, { logged });
export const notFound = (message: string) => new ServiceError('not_found', message);
/** What was found. Throws `notFound` if there is nothing. */
export function requireFound<T>(object: T | undefined, message: string): T {
  if (object === undefined) throw notFound(message);
  return object;
}
export const unavailable = (message: string) =>
  new ServiceError('service_unavailable', message, { retryAfterSeconds: 1 });
/** All errors of damaged pages are the same: they are logged as one outage. */
export const damaged = (): ServiceError =>
  Object.assign(unavailable('the database is damaged'), {
    cause: 'the file has damaged pages: stop the service and restore a backup (docs/run/backup.md)',
    outage: { cause: 'damaged', node: '' } satisfies Outage,
  });
/** The response is never sent: it ends what the request has started. */
export const clientDisconnected = () => unavailable('the client has disconnected');

/** One object for all requests: creating an error takes longer than rejecting a request. */
export const overloaded = unavailable('the service is overloaded, try again');

/** The line of a record. `source` is the name of the file, if an import reads several. */
export type Line = { number: number; source?: string | undefined };

/** A rejected line of an import: `line 17: message: conversation_id does not exist`. */
export class BadRecord extends ServiceError {
  readonly line: Line;
  /** The kind of the record, if it is known. */
  readonly record: string | undefined;
  /** The fault of the record, without its line and kind. */
  readonly problem: Problem;

  constructor(line: Line, record: string | undefined, problem: string | Problem) {
    const described = typeof problem === 'string' ? plainProblem([], problem) : problem;
    const location = line.source === undefined ? `line ${line.number}` : `${line.source}: line ${line.number}`;
    const sentence = (end: string) => [location, record, end].filter((part) => part !== undefined).join(': ');
    super('invalid_param', sentence(described.text), { logged: sentence(described.logged) });
    this.line = line;
    this.record = record;
    this.problem = described;
  }
}

/** An error as a message to another thread: messages lose the class of an error. */
export type ErrorMessage =
  | { kind: 'bad-record'; line: Line; record: string | undefined; problem: Problem }
  | { kind: 'service'; code: ErrorCode; message: string; details: Details; more: { cause?: unknown; outage?: Outage } }
  | { kind: 'internal'; message: string };

export function toErrorMessage(error: unknown): ErrorMessage {
  if (error instanceof BadRecord) {
    const { line, record, problem } = error;
    return { kind: 'bad-record', line, record, problem };
  }
  if (!(error instanceof ServiceError)) {
    return { kind: 'internal', message: error instanceof Error ? error.message : String(error) };
  }
  const { code, message, retryAfterSeconds, logged, cause, outage } = error;
  const more = { ...(cause !== undefined && { cause: String(cause) }), ...(outage && { outage }) };
  return { kind: 'service', code, message, details: { retryAfterSeconds, logged }, more };
}

export function fromErrorMessage(error: ErrorMessage): Error {
  if (error.kind === 'bad-record') return new BadRecord(error.line, error.record, error.problem);
  if (error.kind === 'service') {
    return Object.assign(new ServiceError(error.code, error.message, error.details), error.more);
  }
  return new Error(error.message);
}

/** What was thrown, as an error of a system or a driver, which may have a code. */
export const asError = (thrown: unknown): Error & { code?: string; errcode?: number } =>
  thrown instanceof Error ? thrown : new Error(String(thrown));
