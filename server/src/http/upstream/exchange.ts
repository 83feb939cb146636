import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { limits } from '../../contract/limits.ts';
import type { Caller } from '../../domain/caller.ts';
import { ServiceError } from '../../domain/errors.ts';
import { noteUpstream } from '../observe/causes.ts';
import { hasUnknownCoding } from '../request/before-routing.ts';
import { dropBody, hasBody } from '../request/body.ts';
import type { ErrorSender } from '../request/errors.ts';
import { responseHeaders } from './headers.ts';

/** How long a response is read to its end after its client has left. */
const keptMillisMax = 1_800_000;

/** One request of a client. */
export type PassedRequest = {
  request: IncomingMessage;
  response: ServerResponse;
  id: string;
  /** Whom the upstream is told about. Undefined if it knows its callers itself. */
  caller: Caller | undefined;
  /** Whether its key is not known here. Such requests leave half of the places to others. */
  isUnknown?: boolean;
  /** Returns the bytes of a response as they may be sent, or undefined if none are held back. */
  holdBack?: (incoming: IncomingMessage, chunks: AsyncIterable<Buffer>) => AsyncIterable<Buffer> | undefined;
  /** Whether the response is read to its end also if the client disconnects. */
  outlivesClient?: boolean;
  /** Called if the upstream does not accept the key. */
  onUnauthorized?: () => void;
  /** Called, instead of an error response, if the upstream is not available, or does not respond soon. */
  orElse?: (() => void) | undefined;
};

export type ExchangeOptions = {
  send: () => ClientRequest;
  errors: ErrorSender;
  /** Counts a response that is read to its end without its client. False if there are too many. */
  keep: () => boolean;
  /** Called with the error, if there is one before the response has begun, else with the status of the response. */
  onResponse: (error: ServiceError | undefined, status?: number) => void;
  onEnd: (wasKept: boolean) => void;
};

/** One request to the upstream and its response. */
export class Exchange {
  readonly #passed: PassedRequest;
  readonly #options: ExchangeOptions;
  #outgoing: ClientRequest | undefined;
  #timer: NodeJS.Timeout | undefined;
  #incoming: IncomingMessage | undefined;
  #hasFailed = false;
  #isReading = false;
  #kept: NodeJS.Timeout | undefined;
  #hasEnded = false;

  constructor(passed: PassedRequest, options: ExchangeOptions) {
    this.#passed = passed;
    this.#options = options;
  }

  start(): void {
    const { request, response } = this.#passed;
    response.once('close', this.#onClose);
    this.#connect();
    if (hasBody(request)) this.#sendBody();
    else this.#outgoing?.end();
  }

  readonly #onClose = (): void => {
    const { request, response, outlivesClient } = this.#passed;
    const isOver = response.writableFinished || this.#hasFailed || this.#hasEnded;
    if (isOver || !outlivesClient || !request.complete || !this.#options.keep()) return this.#end();
    this.#kept = setTimeout(() => this.#end(), keptMillisMax);
  };

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#kept);
    this.#outgoing?.destroy();
    const { request } = this.#passed;
    // The upstream did not wait for the rest of the body, so the client may still be sending it.
    if (hasBody(request) && !request.complete) void dropBody(request, limits.upstreamBodyBytesMax, true);
    this.#options.onEnd(this.#kept !== undefined);
  }

  #connect(): void {
    const outgoing = this.#options.send();
    this.#outgoing = outgoing;
    const isUrgent = this.#passed.orElse !== undefined;
    this.#limit(isUrgent ? limits.upstreamUrgentMillisMax : limits.upstreamConnectMillisMax);
    const connected = () => isUrgent || this.#limit(limits.upstreamResponseMillisMax);
    outgoing.once('socket', (socket) => socket.once('connect', connected));
    outgoing.once('response', (incoming) => this.#sendResponse(incoming));
    outgoing.once('upgrade', (_incoming, socket) => {
      socket.destroy();
      this.#fail(badGateway('the upstream switched to another protocol'));
    });
    outgoing.on('error', (error) => this.#fail(badGateway('the upstream is not available', error)));
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
    const { response, id, holdBack, onUnauthorized } = this.#passed;
    this.#incoming = incoming;
    if (incoming.statusCode === 401) onUnauthorized?.();
    const isKept = this.#kept !== undefined;
    if (response.headersSent || (response.closed && !isKept)) return void incoming.destroy();
    // Its bytes mean something else than those of a response without it.
    if (incoming.statusCode === 101 || hasUnknownCoding(incoming)) {
      return this.#fail(badGateway('the response of the upstream is not HTTP that can be passed on'));
    }
    try {
      if (!isKept)
        response.writeHead(incoming.statusCode ?? 502, incoming.statusMessage, responseHeaders(incoming, id));
    } catch (error) {
      return this.#fail(badGateway('the response of the upstream is not HTTP', error as Error));
    }
    this.#options.onResponse(undefined, incoming.statusCode);
    noteUpstream(response);
    this.#limit(limits.upstreamIdleMillisMax);
    const chunks = this.#chunksOf(incoming);
    const pieces = holdBack?.(incoming, chunks);
    if (pieces === undefined && isKept) return this.#end();
    // That of an event stream, too: the first event may take long.
    if (!response.closed && (pieces === undefined || isEventStream(incoming.headers))) sendHead(response);
    void this.#sendPieces(pieces ?? chunks);
  }

  async *#chunksOf(incoming: IncomingMessage): AsyncGenerator<Buffer> {
    for await (const chunk of incoming) {
      this.#timer?.refresh();
      yield chunk;
    }
  }

  /** Also while the client is gone. */
  async #sendPieces(pieces: AsyncIterable<Buffer>): Promise<void> {
    const { response } = this.#passed;
    this.#isReading = true;
    try {
      for await (const piece of pieces) {
        if (!response.closed && !response.write(piece)) await drained(response);
      }
      if (!response.closed) response.end();
    } catch {
      // A response that breaks off must not look complete: the connection to the client ends, too.
      response.destroy();
    }
    this.#isReading = false;
    if (response.closed) this.#end();
  }

  #limit(millis: number): void {
    const { response } = this.#passed;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      // The client does not read. What is read to its end without a client is.
      if (response.writableNeedDrain || this.#incoming?.complete) response.destroy();
      else this.#fail(tooSlow());
    }, millis);
  }

  #fail(error: ServiceError): void {
    const { response, id, orElse } = this.#passed;
    // Destroying the request is an error of it, too, as is what follows a whole response: neither may cut off the response.
    if (this.#hasFailed || this.#hasEnded || this.#incoming?.complete) return;
    this.#hasFailed = true;
    clearTimeout(this.#timer);
    this.#outgoing?.destroy();
    if (response.closed) return this.#isReading ? undefined : this.#end();
    // Its end is what was read of it.
    if (response.headersSent) return void (this.#isReading || response.destroy());
    this.#options.onResponse(error);
    if (orElse !== undefined && error !== undefined && isUnavailable(error)) {
      response.off('close', this.#onClose);
      this.#end();
      return orElse();
    }
    this.#options.errors.write(response, error, id);
  }
}

export const isEventStream = (headers: IncomingMessage['headers']): boolean =>
  headers['content-type']?.startsWith('text/event-stream') === true;

/** The bytes of its headers as they were received; `flushHeaders` would encode them as UTF-8. */
const sendHead = (response: ServerResponse): unknown => response.write('', 'latin1');

const isUnavailable = ({ code }: ServiceError): boolean => code === 'bad_gateway' || code === 'gateway_timeout';

const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.once('drain', done).once('close', done);
  });

/** The error of an attempt to connect to several addresses has no message of its own. */
export const badGateway = (message: string, cause?: Error & { code?: string }) =>
  new ServiceError('bad_gateway', message, { logged: cause ? `${message}: ${cause.message || cause.code}` : message });
const tooSlow = () => new ServiceError('gateway_timeout', 'the upstream is too slow');
const clientTooSlow = () => new ServiceError('request_timeout', 'the body took too long to arrive');
export const tooLarge = () =>
  new ServiceError('payload_too_large', `the body is larger than ${limits.upstreamBodyBytesMax} bytes`);
