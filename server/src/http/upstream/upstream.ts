import type { RequestOptions } from 'node:http';
import { limits } from '../../contract/limits.ts';
import { unavailable } from '../../domain/errors.ts';
import type { Metrics } from '../observe/metrics.ts';
import { receivedUrl, requireUnambiguousBody } from '../request/before-routing.ts';
import type { ErrorSender } from '../request/errors.ts';
import type { SharedSum } from '../workers/shared-sum.ts';
import { badGateway, Exchange, type PassedRequest, tooLarge } from './exchange.ts';
import { requestHeaders } from './headers.ts';
import { upstreamPath } from './path.ts';

/** Responses that are read to their end after their client has left. */
const keptResponsesMax = 256;

export type UpstreamOptions = {
  url: string;
  errors: ErrorSender;
  metrics: Metrics;
  /** Requests passed on, of all workers. */
  passed: SharedSum;
  workers: number;
};

/** The server that other requests are passed on to. Requests and responses are streamed. */
export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #url: URL;
  readonly #http: Pick<typeof import('node:http'), 'Agent' | 'request'>;
  readonly #agent: import('node:http').Agent;
  /** Responses of this worker that are read to their end without their clients. */
  #kept = 0;
  /** Whether the last request of this worker got a response, and when. */
  #last: { isAvailable: boolean; at: number } | undefined;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.#url = new URL(options.url);
    // Loaded only if there is an upstream: the client would make every start slower.
    this.#http = process.getBuiltinModule(this.#url.protocol === 'https:' ? 'node:https' : 'node:http');
    // No connection is used twice: what one request left on it would become the response to the next one.
    this.#agent = new this.#http.Agent({ keepAlive: false });
  }

  /** Undefined if the last request is too old to say anything about now. */
  get isAvailable(): boolean | undefined {
    const isRecent = this.#last && performance.now() < this.#last.at + limits.upstreamStateMillis;
    return isRecent ? this.#last?.isAvailable : undefined;
  }

  /** Sends a request below `prefix` to the upstream, and its response to the client. Throws if it cannot be sent at all. */
  pass(passed: PassedRequest, prefix: string): void {
    const { request, response, id, caller } = passed;
    // The client may have left while its key was looked up.
    if (response.closed) return;
    requireUnambiguousBody(request);
    if (Number(request.headers['content-length'] ?? 0) > limits.upstreamBodyBytesMax) throw tooLarge();
    const { hostname, port, host, pathname } = this.#url;
    const isEncoded = passed.holdBack === undefined;
    const target: RequestOptions = {
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port,
      agent: this.#agent,
      method: request.method,
      path: upstreamPath(receivedUrl(request), prefix, pathname.replace(/\/$/, '')),
      headers: requestHeaders(request, host, id, { caller, isEncoded }),
      maxHeaderSize: limits.headerBytesMax,
    };
    const { passed: count, errors, metrics, workers } = this.#options;
    if (!count.tryIncrement(limits.upstreamRequestsMax / (passed.isUnknown ? 2 : 1)))
      throw unavailable('too many requests are passed on, try again');
    metrics.countEvent('responder', 'upstream');
    const start = performance.now();
    const keep = () => {
      if (this.#kept >= keptResponsesMax / workers) return false;
      this.#kept += 1;
      count.add(-1);
      return true;
    };
    new Exchange(passed, {
      send: () => this.#http.request(target),
      errors,
      keep,
      onResponse: (error, status = 0) => {
        this.#last = { isAvailable: error === undefined, at: performance.now() };
        const outcome = status >= 500 ? 'failed_response' : 'response';
        metrics.countUpstream(error?.code ?? outcome, (performance.now() - start) / 1000, Date.now());
      },
      onEnd: (wasKept) => {
        if (wasKept) this.#kept -= 1;
        else count.add(-1);
      },
    }).start();
  }

  /** Sends a request of this server. Returns the status of the response. */
  async send(method: string, path: string, key: string, body: object): Promise<number> {
    const text = JSON.stringify(body);
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    };
    const url = new URL(this.#url.pathname.replace(/\/$/, '') + path, this.#url);
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => reject(badGateway('the upstream is not available', error));
      const request = this.#http.request(url, { method, headers, agent: this.#agent }, (response) => {
        response.on('error', fail).on('end', () => resolve(response.statusCode ?? 0));
        response.resume();
      });
      request.setTimeout(limits.upstreamIdleMillisMax, () => request.destroy());
      request.on('error', fail).end(text);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
