import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger } from 'fastify';
import type { KeyUses } from '../../domain/keys/key-uses.ts';
import { causeOf, safeText } from './causes.ts';
import type { Metrics } from './metrics.ts';

/** A text that looks like a secret is not accepted as a request id: it would be logged. */
const safeId = /^(?!(?:app|dataset|writer|feed|admin|session)-[\w-]{20})[\w.:=+/@-]{1,128}$/i;

/** The client's id for the request if it is safe in a header and a log line, else a new one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  return safeRequestId(headers['x-request-id'] as string | undefined);
}

export function safeRequestId(clientId: string | undefined): string {
  return clientId !== undefined && safeId.test(clientId) ? clientId : randomUUID();
}

/** The id of the trace that a request belongs to (W3C Trace Context), if the header is valid. */
const traceIdOf = (traceparent: string): string | undefined =>
  /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:$|-)/.exec(traceparent)?.[1];

/** The route of a request that no route matches. */
export const unmatchedRoute = 'unmatched';

/** The destination of log lines. */
export type Lines = { write(text: string): void };

/** Logged fields of a request. `route` is a pattern, so that ids stay out of logs and metrics. */
export type RequestSummary = {
  id: string;
  method: string;
  route: string;
  key_id: string | null;
  start: number;
  /** The tool that an agent called. */
  tool?: string | null;
  traceparent: string | undefined;
  /** Whether it came from the console: its errors are not those of a client that has the key. */
  isConsole?: boolean;
};

/** Counts each request and logs one line about it when its response has ended or was aborted. */
export class Observer {
  readonly #metrics: Metrics;
  readonly #uses: KeyUses;
  readonly #lines: Lines | undefined;
  #millis = 0;
  #time = '';

  constructor(
    metrics: Metrics,
    uses: KeyUses,
    logger: FastifyBaseLogger & { isLevelEnabled?: (level: string) => boolean },
    lines: Lines,
  ) {
    this.#metrics = metrics;
    this.#uses = uses;
    this.#lines = logger.isLevelEnabled?.('info') === false ? undefined : lines;
  }

  report(
    { id, method, route, key_id: callerKey, start, tool, traceparent, isConsole = false }: RequestSummary,
    response: ServerResponse,
  ): void {
    const { statusCode, writableFinished } = response;
    const millis = performance.now() - start;
    this.#metrics.count(method, route, statusCode, millis / 1000);
    const cause = statusCode >= 400 ? causeOf(response) : undefined;
    const key_id = callerKey ?? cause?.key_id ?? null;
    if (cause !== undefined) {
      const { code = null, message, outage } = cause;
      if (outage !== undefined) this.#metrics.countEvent('outages', `${outage.cause} ${outage.node}`);
      // The path is listed, but not logged.
      const path = route === unmatchedRoute || route.endsWith('*') ? `: ${response.req.url?.split('?', 1)[0]}` : '';
      const lastFailure = { request_id: id, code, message: safeText(message + path) };
      this.#metrics.failures.add({ status: statusCode, method, route, key_id }, lastFailure);
    }
    if (key_id !== null && !isConsole) this.#uses.addResponse(key_id, statusCode, this.#metrics.seconds());
    if (this.#lines === undefined) return;
    // The service generated or checked all other values, so they need no escaping. `JSON.stringify` takes over a microsecond.
    const key = key_id === null ? 'null' : `"${key_id}"`;
    const code = cause?.code ? `,"error":"${cause.code}"` : '';
    const message = cause?.message ? `,"message":${JSON.stringify(cause.message)}` : '';
    const called = tool ? `,"tool":"${tool}"` : '';
    const aborted = writableFinished ? '' : ',"aborted":true';
    const traceId = traceparent === undefined ? undefined : traceIdOf(traceparent);
    const trace = traceId === undefined ? '' : `,"trace_id":"${traceId}"`;
    const took = Math.round(millis * 100) / 100;
    this.#lines.write(
      `{"level":30,"time":"${this.#now()}","req_id":"${id}","method":"${method}","route":"${route}","status":${statusCode},"ms":${took},"key_id":${key}${called}${trace}${code}${message}${aborted},"msg":"request"}\n`,
    );
  }

  /** The current time in the format of the log, formatted at most once a millisecond. */
  #now(): string {
    const now = Date.now();
    if (now !== this.#millis) {
      this.#millis = now;
      this.#time = new Date(now).toISOString();
    }
    return this.#time;
  }
}
