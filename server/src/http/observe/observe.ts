import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger } from 'fastify';
import type { Metrics } from './metrics.ts';

/** Not a secret either: somebody may have put one into the wrong header. */
const saneRequestId = /^(?!(?:app|dataset|writer|admin|session)-[\w-]{20})[\w.:=+/@-]{1,128}$/i;

/** The caller's own id for the request where it is fit for a header and a log line. */
export function requestIdOf({ headers }: IncomingMessage): string {
  return saneIdOf(headers['x-request-id'] as string | undefined);
}

export function saneIdOf(given: string | undefined): string {
  return given !== undefined && saneRequestId.test(given) ? given : randomUUID();
}

/** Where lines of the log go. */
export type Lines = { write(text: string): void };

/** What is known of a request when its answer ends. `route` is a pattern, so that ids stay out of logs and metrics. */
export type Ended = { id: string; method: string; route: string; key_id: string | null; start: number };

/** Counts each request, and writes one line about it, once its answer has ended, be it early. */
export class Observer {
  readonly #metrics: Metrics;
  readonly #lines: Lines | undefined;
  #moment = 0;
  #time = '';

  constructor(
    metrics: Metrics,
    logger: FastifyBaseLogger & { isLevelEnabled?: (level: string) => boolean },
    lines: Lines,
  ) {
    this.#metrics = metrics;
    this.#lines = logger.isLevelEnabled?.('info') === false ? undefined : lines;
  }

  ended({ id, method, route, key_id, start }: Ended, response: ServerResponse): void {
    const { statusCode, writableFinished } = response;
    const millis = performance.now() - start;
    this.#metrics.count(method, route, statusCode, millis / 1000);
    if (this.#lines === undefined) return;
    // All other parts are of our own making or were checked, so that they need no escaping.
    const key = JSON.stringify(key_id);
    const aborted = writableFinished ? '' : ',"aborted":true';
    const took = Math.round(millis * 100) / 100;
    this.#lines.write(
      `{"level":30,"time":"${this.#now()}","req_id":"${id}","method":"${method}","route":"${route}","status":${statusCode},"ms":${took},"key_id":${key}${aborted},"msg":"request"}\n`,
    );
  }

  /** The moment as logs spell it; spelled once a millisecond. */
  #now(): string {
    const now = Date.now();
    if (now !== this.#moment) {
      this.#moment = now;
      this.#time = new Date(now).toISOString();
    }
    return this.#time;
  }
}
