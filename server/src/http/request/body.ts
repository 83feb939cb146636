import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest, onRequestHookHandler, onSendHookHandler } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { limits } from '../../contract/limits.ts';
import { asError, ServiceError } from '../../domain/errors.ts';
import { UnfinishedInput } from '../../domain/unfinished-input.ts';
import { requireUnambiguousBody } from './before-routing.ts';
import { checkFirst } from './check-first.ts';
import { requireValid } from './query.ts';

/** Time for the rest of a body to arrive before an early response that closes the connection. */
const earlyResponseGraceMillis = 50;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route accepts bodies of any length. */
    isUpload?: boolean;
    /** The key is in the body, so anyone may send one of this size. */
    publicBodyBytesMax?: number;
    /** The route parses the body: it has its own response to one that is not JSON. */
    parsesBody?: boolean;
    /** The request may have no body: then it is undefined. */
    isBodyOptional?: boolean;
  }
}

/** Rejects a body of another type before any of it is read. */
export function requireContentType(type: string): onRequestHookHandler {
  return checkFirst(({ headers, raw }) => {
    requireUnambiguousBody(raw);
    checkContentType(headers, type);
  });
}

function checkContentType(headers: IncomingHttpHeaders, type: string): void {
  const [mediaType, ...parameters] = headers['content-type']?.toLowerCase().split(';') ?? [];
  const encoding = headers['content-encoding'] ?? 'identity';
  if (mediaType?.trim() !== type) throw new ServiceError('unsupported_media_type', `the content type must be ${type}`);
  if (parameters.some((one) => one.includes('charset') && !/^\s*charset\s*=\s*"?utf-?8"?\s*$/.test(one))) {
    throw new ServiceError('unsupported_media_type', 'the body must be UTF-8');
  }
  if (encoding !== 'identity') {
    throw new ServiceError('unsupported_media_type', 'the body must not have a content encoding');
  }
}

declare module 'fastify' {
  interface FastifySchema {
    /** The body of a DELETE, for the OpenAPI document. The route reads it with `optionalBody`. */
    optionalBody?: unknown;
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Reads a whole JSON body. The schema ignores unknown fields. */
export function jsonReader(in_flight_max: number) {
  const publicBodies = new PublicBodies(in_flight_max);
  return async ({ routeOptions }: FastifyRequest, payload: IncomingMessage): Promise<unknown> => {
    const { publicBodyBytesMax: max, parsesBody, isBodyOptional } = routeOptions.config;
    const bytes = await (max === undefined ? readAll(payload, limits.bodyBytesMax) : publicBodies.read(payload, max));
    if (isBodyOptional && bytes.length === 0) return undefined;
    return parsesBody ? bytes : parseJson(bytes);
  };
}

export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    throw new ServiceError('bad_request', 'the body is not JSON');
  }
}

/** The body of a request whose method may have none. Undefined if it is empty: then it needs no content type. */
export async function optionalBody<S extends TSchema>(
  request: FastifyRequest,
  schema: S,
): Promise<Static<S> | undefined> {
  if (!hasBody(request.raw)) return undefined;
  const { headers } = request;
  if (headers['content-type'] !== undefined) checkContentType(headers, 'application/json');
  const bytes = await readAll(request.raw, limits.bodyBytesMax);
  if (bytes.length === 0) return undefined;
  checkContentType(headers, 'application/json');
  return requireValid(schema, parseJson(bytes));
}

/**
 * Bodies that anyone may send are small, and the service waits for only a few at a time: beyond that, the oldest one times
 * out. Otherwise a few hundred bodies that never arrive would block all other clients.
 */
class PublicBodies {
  readonly #max: number;
  readonly #awaited = new Set<AbortController>();

  constructor(in_flight_max: number) {
    this.#max = Math.ceil(in_flight_max / 10);
  }

  async read(payload: IncomingMessage, bytesMax: number): Promise<Buffer> {
    const [oldest] = this.#awaited.size < this.#max ? [] : this.#awaited;
    oldest?.abort();
    const waiting = new AbortController();
    this.#awaited.add(waiting);
    waiting.signal.addEventListener('abort', () => this.#awaited.delete(waiting));
    return readAll(payload, bytesMax, waiting.signal).finally(() => this.#awaited.delete(waiting));
  }
}

function readAll(payload: IncomingMessage, bytesMax: number, signal?: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const unfinished = new UnfinishedInput();
    const stop = (error?: Error) => {
      clearTimeout(timer);
      unfinished.clear();
      payload.off('data', add).off('end', stop).off('error', stop).off('close', abort);
      if (error === undefined) resolve(Buffer.concat(chunks));
      else reject(error);
    };
    const add = (chunk: Buffer) => {
      try {
        unfinished.add(chunk.length);
      } catch (error) {
        return stop(asError(error));
      }
      if (unfinished.bytes > bytesMax) stop(tooLarge(bytesMax));
      else chunks.push(chunk);
    };
    const abort = () => stop(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }));
    const timer = setTimeout(() => stop(tooSlow()), limits.bodyMillisMax);
    signal?.addEventListener('abort', () => stop(tooSlow()));
    if (Number(payload.headers['content-length']) > bytesMax) return stop(tooLarge(bytesMax));
    payload.on('data', add).on('end', stop).on('error', stop).on('close', abort);
  });
}

const tooLarge = (bytesMax: number) =>
  new ServiceError('payload_too_large', `the body is larger than ${bytesMax} bytes`);
const tooSlow = () => new ServiceError('request_timeout', 'the body took too long to arrive');

/** A body of any length, in chunks. After an error `dropRest` discards the rest. */
export async function* streamBody(payload: Readable): AsyncGenerator<Uint8Array> {
  const chunks = payload.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Uint8Array>;
  try {
    for (;;) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(tooSlow()), limits.bodyIdleMillisMax);
      });
      const { done, value } = await Promise.race([chunks.next(), late]).finally(() => clearTimeout(timer));
      if (done) return;
      yield value;
    }
  } finally {
    // Detaches from the stream, so that the rest can be discarded. Not awaited, since a chunk may still be pending.
    void chunks.return?.();
  }
}

/**
 * A response may be sent before the whole body has arrived. If the connection were closed then, a client that is still
 * sending would not receive the response. So the rest is read and discarded, up to a limit.
 */
export const dropRest: onSendHookHandler = (request, reply, payload, done) => {
  // Fastify would close the connection after a body that it could not read; we read them all.
  if (reply.hasHeader('connection')) reply.removeHeader('connection');
  if (request.raw.complete || !hasBody(request.raw)) return done(null, payload);
  drop(request, reply).then(() => done(null, payload), done);
};

async function drop(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { raw } = request;
  // A client with a valid key may finish an upload of any length, and then read what was wrong with it.
  const isUpload = request.caller !== null && request.routeOptions.config.isUpload === true;
  // A body of a known length is rejected before any of it is read: then its rest includes what a body may have.
  const more = raw.headers['content-length'] === undefined ? 0 : limits.bodyBytesMax;
  const ended = dropBody(raw, isUpload ? Number.POSITIVE_INFINITY : limits.drainBytesMax + more, isUpload);
  if (reply.raw.shouldKeepAlive) return;
  // Usually the rest arrives soon, and the response can close the connection as usual.
  await Promise.race([ended, sleep(earlyResponseGraceMillis)]);
  if (!raw.complete) closeWhenDropped(request, reply);
}

/** Discards the rest of a body. Beyond its limits, the connection is closed. `isUpload`: it may take as long as it arrives. */
export async function dropBody(raw: IncomingMessage, bytesMax: number, isUpload: boolean): Promise<void> {
  const { socket } = raw;
  let bytes = 0;
  const timer = setTimeout(() => socket.destroy(), limits.drainMillisMax).unref();
  raw.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (isUpload) timer.refresh();
    if (bytes > bytesMax) socket.destroy();
  });
  raw.resume();
  await new Promise<void>((resolve) => raw.once('end', resolve).once('close', resolve));
  clearTimeout(timer);
}

/** Without keep-alive, Node closes the connection directly after the response. Here the rest of the body is read first. */
function closeWhenDropped({ raw }: FastifyRequest, reply: FastifyReply): void {
  reply.raw.shouldKeepAlive = true;
  reply.raw.removeHeader('connection');
  const close = () => {
    if (raw.complete && reply.raw.writableFinished) raw.socket.end();
  };
  raw.once('end', close);
  reply.raw.once('finish', close);
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
