import { asError, type Outage, type OutageCause, ServiceError, unavailable } from '../../../domain/errors.ts';

/** Which errors of PostgreSQL may be retried, and which end a connection. */

/** Serialization failure, deadlock, unique violation: a retry sees what the other transaction wrote. */
const conflicts = ['40001', '40P01', '23505'];
/** The server has become a standby, in a failover. */
export const readOnly = '25006';
/** Read-only during a failover, shutting down, starting up. */
const transient = [readOnly, '57P01', '57P02', '57P03'];
const lockTimeout = '55P03';
/** The statement took too long or waited too long for a lock. */
const timeouts = ['57014', lockTimeout];
const networkErrors = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'];

/** Too many requests wait for a connection already. */
export const connectionsBusy = (): ServiceError =>
  Object.assign(unavailable('all database connections are busy'), {
    outage: { cause: 'busy', node: '' } satisfies Outage,
  });

export const codeOf = (error: unknown): string => asError(error).code ?? '';
const messageOf = (error: unknown): string => asError(error).message;
const causeOf = (error: unknown): unknown => asError(error).cause;

/** The connection is closed or in an unknown state: it must not be used again. */
export function isLost(error: unknown): boolean {
  if (error instanceof ServiceError) return 'isLost' in error;
  if (isNodeFailure(error)) return 'isLost' in asError(error);
  const code = codeOf(error);
  const isGone = networkErrors.includes(code) || code.startsWith('08') || code.startsWith('57P') || code === '25P02';
  return isGone || code === readOnly || 'isLost' in asError(error) || isTerminated(error);
}

/**
 * A distributed database has lost the connection to one of its nodes: the statement failed, but this connection is intact.
 * Citus reports most of these as internal errors, with the messages of its own client library.
 */
function isNodeFailure(error: unknown): boolean {
  if ((error as { severity?: string }).severity !== 'ERROR') return false;
  const code = codeOf(error);
  return lostNodeCodes.test(code) || (code === 'XX000' && lostNode.test(messageOf(error)));
}

function isTerminated(error: unknown): boolean {
  return /connection terminated|timeout expired|query read timeout|client has encountered a connection error|not queryable/i.test(
    messageOf(error),
  );
}

/**
 * 08…: Citus cannot connect to a node, or has lost the connection. 57P01 to 57P03: the node stops, has crashed, starts.
 * 58030: a COPY to a shard has failed. As errors of a statement, all of them are about another node.
 */
const lostNodeCodes = /^(?:08...|57P..|58030)$/;

/** Messages with the code XX000, by where they come from and when they were seen. */
const lostNode = new RegExp(
  [
    // The client library by which nodes connect to each other: a node was killed, or its connection was cut.
    'SSL SYSCALL|SSL error|SSL connection has been closed|closed the connection|connection not open',
    'no connection to the server|could not (?:receive data from|send data to|connect to|translate host name)|timeout expired',
    // The other node, before it ends: its postmaster was killed or stopped.
    'postmaster was shut down|terminating connection',
    // Citus, in a statement: a node is down or does not respond.
    'connection to the remote node|marked as essential|connection establishment for|wait event for node',
    'could not connect to any active placements|could not establish (?:any )?connection|could not find an available connection',
    // Citus, in COPY or COMMIT: a node went down meanwhile.
    'could not (?:commit transaction for shard|start copy)|failed to (?:commit|prepare) transaction|failed to complete COPY',
  ].join('|'),
  'i',
);

/** A statement that took too long may still run on the server. */
export const isTimeout = (error: unknown): boolean =>
  /query read timeout|timeout exceeded when trying to connect/i.test(messageOf(error));

/** Whether the error for the client says that another transaction has locked what the statement needs. */
export const isLockTimeout = (error: unknown): boolean => codeOf(causeOf(error)) === lockTimeout;

/** There was no response in time, to a statement or to the attempt to connect. */
export const isSilence = (error: unknown): boolean =>
  codeOf(error) === 'ETIMEDOUT' || /timeout/i.test(messageOf(error)) || /timeout/i.test(messageOf(causeOf(error)));

/** A wrong or missing password, no such role, no such database: waiting does not help. */
export const isRejection = (error: unknown): boolean =>
  /^(?:28...|3D000)$/.test(codeOf(error)) || messageOf(error).startsWith('SASL');

/** Whether a retry may succeed. False after a statement that timed out, and for a server without free resources. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof ServiceError || isTimeout(error)) return false;
  const code = codeOf(error);
  return conflicts.includes(code) || transient.includes(code) || isLost(error) || isNodeFailure(error);
}

/**
 * The server has no free disk space, memory or connections. A node of Citus on which there is no room for the intermediate rows
 * of a statement reports an internal error.
 */
const lacksResources = (error: unknown): boolean =>
  codeOf(error).startsWith('53') || (codeOf(error) === 'XX000' && /no space left on device/i.test(messageOf(error)));

export function publicError(error: unknown, isConnecting = false): Error {
  if (error instanceof ServiceError) return error;
  const code = codeOf(error);
  const isTemporary =
    isConnecting || isRetryable(error) || isLost(error) || timeouts.includes(code) || lacksResources(error);
  return isTemporary ? notAvailable(error, { cause: outageCauseOf(error), node: nodeIn(error) }) : asError(error);
}

/** The client only gets the 503; the cause is for the log, the outage for metrics. */
export const notAvailable = (cause: unknown, outage: Outage): ServiceError =>
  Object.assign(unavailable('the database is not available'), { cause, outage });

function outageCauseOf(error: unknown): OutageCause {
  const code = codeOf(error);
  if (lacksResources(error)) return 'resources';
  return timeouts.includes(code) || isSilence(error) ? 'timeout' : 'connection';
}

/** Citus has no field for the node in its errors: it is in the text, as `user@host:port` or `host:port`. */
const nodeIn = (error: unknown): string =>
  isNodeFailure(error) ? (/(?:node|to) (?:[^\s@]+@)?([^\s@]+:\d+)/.exec(messageOf(error))?.[1] ?? '') : '';
