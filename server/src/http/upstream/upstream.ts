import type { ClientRequest, IncomingMessage, RequestOptions, ServerResponse } from 'node:http';
import { limits } from '../../contract/limits.ts';
import type { Caller } from '../../domain/caller.ts';
import { ServiceError, unavailable } from '../../domain/errors.ts';
import { hasBody } from '../request/body.ts';
import type { ErrorSender } from '../request/errors.ts';
import type { SharedSum } from '../workers/shared-sum.ts';
import { requestHeaders, responseHeaders } from './headers.ts';
import { upstreamPath } from './path.ts';

export type UpstreamOptions = {
  url: string;
  errors: ErrorSender;
  /** Requests passed on, of all workers. */
  passed: SharedSum;
  workers: number;
};

/** One request of a client, and the caller of its key. */
export type PassedRequest = { request: IncomingMessage; response: ServerResponse; id: string; caller: Caller };

/** The server behind this one. Requests and responses are streamed, and only their headers are read. */
export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #url: URL;
  readonly #http: Pick<typeof import('node:http'), 'Agent' | 'request'>;
  readonly #agent: import('node:http').Agent;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.#url = new URL(options.url);
    // Loaded only if there is an upstream: the client would make every start slower.
    this.#http = process.getBuiltinModule(this.#url.protocol === 'https:' ? 'node:https' : 'node:http');
    const maxSockets = Math.ceil(limits.upstreamRequestsMax / options.workers);
    this.#agent = new this.#http.Agent({ keepAlive: true, maxSockets, maxFreeSockets: maxSockets, scheduling: 'lifo' });
  }

  /** Sends a request below `prefix` to the upstream, and its response to the client. Throws if it cannot be sent at all. */
  pass(passed: PassedRequest, prefix: string): void {
    const { request, id, caller } = passed;
    if (Number(request.headers['content-length'] ?? 0) > limits.upstreamBodyBytesMax) throw tooLarge();
    const { hostname, port, host, pathname } = this.#url;
    const target: RequestOptions = {
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port,
      agent: this.#agent,
      method: request.method,
      path: upstreamPath(request.url ?? '', prefix, pathname.replace(/\/$/, '')),
      headers: requestHeaders(request, host, id, caller),
      maxHeaderSize: limits.headerBytesMax,
    };
    const { passed: count, errors } = this.#options;
    if (!count.tryIncrement(limits.upstreamRequestsMax))
      throw unavailable('too many requests are passed on, try again');
    new Exchange(passed, () => this.#http.request(target), errors).start(() => count.add(-1));
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** One request to the upstream and its response. */
class Exchange {
  readonly #passed: PassedRequest;
  readonly #send: () => ClientRequest;
  readonly #errors: ErrorSender;
  #outgoing: ClientRequest | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isRetried = false;
  #hasFailed = false;

  constructor(passed: PassedRequest, send: () => ClientRequest, errors: ErrorSender) {
    this.#passed = passed;
    this.#send = send;
    this.#errors = errors;
  }

  start(onEnd: () => void): void {
    const { request, response } = this.#passed;
    response.once('close', () => {
      clearTimeout(this.#timer);
      this.#outgoing?.destroy();
      onEnd();
    });
    this.#connect();
    if (hasBody(request)) this.#sendBody();
    else this.#outgoing?.end();
  }

  #connect(): void {
    const outgoing = this.#send();
    this.#outgoing = outgoing;
    this.#limit(limits.upstreamConnectMillisMax);
    outgoing.once('socket', (socket) => {
      const connected = () => this.#limit(limits.upstreamResponseMillisMax);
      if (socket.connecting) socket.once('connect', connected);
      else connected();
    });
    outgoing.once('response', (incoming) => this.#sendResponse(incoming));
    outgoing.once('upgrade', (_incoming, socket) => {
      socket.destroy();
      this.#fail(badGateway('the upstream switched to another protocol'));
    });
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      const { request, response } = this.#passed;
      const isSafe = !hasBody(request) && (request.method === 'GET' || request.method === 'HEAD');
      // The upstream may close an idle connection at the moment in which a request is sent on it.
      if (outgoing.reusedSocket && isSafe && !this.#isRetried && !response.headersSent && !response.closed) {
        this.#isRetried = true;
        this.#connect();
        this.#outgoing?.end();
        return;
      }
      this.#fail(badGateway('the upstream is not available', error));
    });
  }

  /** With backpressure, and with a limit also where the length is not known before. */
  #sendBody(): void {
    const { request } = this.#passed;
    const outgoing = this.#outgoing as ClientRequest;
    let bytes = 0;
    const idle = setTimeout(
      () => this.#fail(request.isPaused() ? tooSlow() : clientTooSlow()),
      limits.bodyIdleMillisMax,
    );
    const stop = () => clearTimeout(idle);
    outgoing.on('drain', () => request.resume()).once('close', stop);
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      idle.refresh();
      this.#timer?.refresh();
      if (bytes > limits.upstreamBodyBytesMax) this.#fail(tooLarge());
      else if (!outgoing.destroyed && !outgoing.write(chunk)) request.pause();
    });
    request.once('end', () => outgoing.end()).once('close', stop);
  }

  #sendResponse(incoming: IncomingMessage): void {
    const { response, id } = this.#passed;
    if (response.headersSent || response.closed) return void incoming.destroy();
    try {
      response.writeHead(incoming.statusCode ?? 502, incoming.statusMessage, responseHeaders(incoming, id));
    } catch (error) {
      return this.#fail(badGateway('the response of the upstream is not HTTP', error as Error));
    }
    response.flushHeaders();
    this.#limit(limits.upstreamIdleMillisMax);
    response.on('drain', () => incoming.resume());
    incoming.on('data', (chunk: Buffer) => {
      this.#timer?.refresh();
      if (!response.write(chunk)) incoming.pause();
    });
    incoming.once('end', () => response.end());
    // A response that breaks off must not look complete: the connection to the client ends, too.
    incoming.once('error', () => response.destroy());
  }

  #limit(millis: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#fail(tooSlow()), millis);
  }

  #fail(error: ServiceError): void {
    const { request, response, id } = this.#passed;
    // Destroying the request is an error of it, too, which must not cut off the response.
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    clearTimeout(this.#timer);
    this.#outgoing?.destroy();
    if (response.closed) return;
    if (response.headersSent) return void response.destroy();
    request.resume();
    this.#errors.write(response, error, id);
  }
}

const badGateway = (message: string, cause?: Error) =>
  Object.assign(new ServiceError('bad_gateway', message), { cause: cause?.message });
const tooSlow = () => new ServiceError('gateway_timeout', 'the upstream is too slow');
const clientTooSlow = () => new ServiceError('request_timeout', 'the body took too long to arrive');
const tooLarge = () =>
  new ServiceError('payload_too_large', `the body is larger than ${limits.upstreamBodyBytesMax} bytes`);
