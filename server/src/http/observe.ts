import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';

/** Not an API key either: somebody may have put one into the wrong header. */
const saneRequestId = /^(?!(?:app|dataset|writer|admin)-[\w-]{20})[\w.:=+/@-]{1,128}$/i;

/** The caller's own id for the request where it is fit for a header and a log line. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && saneRequestId.test(given) ? given : randomUUID();
}

/** Route patterns, not paths: ids of people and conversations stay out of logs and metrics. */
const routeOf = (request: FastifyRequest): string => request.routeOptions.url ?? 'unmatched';

/** One line a request. */
export function logRequest(request: FastifyRequest, reply: FastifyReply): void {
  request.log.info(
    {
      req_id: request.id,
      method: request.method,
      route: routeOf(request),
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 100) / 100,
      key_id: request.caller?.key_id ?? null,
      ...(!reply.raw.writableFinished && { aborted: true }),
    },
    'request',
  );
}

/** Figures for Prometheus. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = new Counter({
    name: 'backscroll_http_requests_total',
    help: 'Requests answered.',
    labelNames: ['method', 'route', 'status'],
    registers: [this.#registry],
  });
  readonly #seconds = new Histogram({
    name: 'backscroll_http_request_duration_seconds',
    help: 'Time from a request to the end of its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [this.#registry],
  });

  readonly contentType = this.#registry.contentType;

  constructor() {
    collectDefaultMetrics({ register: this.#registry });
  }

  count(request: FastifyRequest, reply: FastifyReply): void {
    const labels = { method: request.method, route: routeOf(request), status: reply.statusCode };
    this.#requests.inc(labels);
    this.#seconds.observe(labels, reply.elapsedTime / 1000);
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
