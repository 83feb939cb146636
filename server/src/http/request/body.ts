import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest, onRequestHookHandler, onSendHookHandler } from 'fastify';
import { limits } from '../../contract/limits.ts';
import { ServiceError } from '../../domain/errors.ts';
import { checkFirst } from '../auth/bearer.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route takes bodies of any length. */
    isUpload?: boolean;
    /** The key is in the body, so that anybody may send one. */
    isOpen?: boolean;
  }
}

/** Refuses a body that is not of this type before any of it is read. */
export function requireContentType(type: string): onRequestHookHandler {
  return checkFirst(({ headers }) => {
    const [given, ...parameters] = headers['content-type']?.toLowerCase().split(';') ?? [];
    const encoding = headers['content-encoding'] ?? 'identity';
    if (given?.trim() !== type) throw new ServiceError('unsupported_media_type', `the content type must be ${type}`);
    if (parameters.some((one) => one.includes('charset') && !/^\s*charset\s*=\s*"?utf-?8"?\s*$/.test(one))) {
      throw new ServiceError('unsupported_media_type', 'the body must be UTF-8');
    }
    if (encoding !== 'identity') {
      throw new ServiceError('unsupported_media_type', 'the body must come without a content encoding');
    }
  });
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Reads a whole JSON body. Fields beyond the schema, also oddly named ones, are the schema's to ignore. */
export function jsonReader(in_flight_max: number) {
  const open = new OpenBodies(in_flight_max);
  return async ({ routeOptions }: FastifyRequest, payload: IncomingMessage): Promise<unknown> => {
    const isOpen = routeOptions.config.isOpen === true;
    const bytes = await (isOpen ? open.read(payload) : readAll(payload, limits.bodyBytesMax));
    try {
      return JSON.parse(decoder.decode(bytes));
    } catch {
      throw new ServiceError('bad_request', 'the body is not JSON');
    }
  };
}

/**
 * Bodies that anybody may send are small, and only a few are waited for at once: then the one that has kept us waiting
 * longest is given up. Otherwise a few hundred that never come would shut everybody out.
 */
class OpenBodies {
  readonly #max: number;
  readonly #awaited = new Set<AbortController>();

  constructor(in_flight_max: number) {
    this.#max = Math.ceil(in_flight_max / 10);
  }

  async read(payload: IncomingMessage): Promise<Buffer> {
    const [longest] = this.#awaited.size < this.#max ? [] : this.#awaited;
    longest?.abort();
    const waiting = new AbortController();
    this.#awaited.add(waiting);
    waiting.signal.addEventListener('abort', () => this.#awaited.delete(waiting));
    return readAll(payload, limits.openBodyBytesMax, waiting.signal).finally(() => this.#awaited.delete(waiting));
  }
}

function readAll(payload: IncomingMessage, bytesMax: number, signal?: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const stop = (error?: Error) => {
      clearTimeout(timer);
      payload.off('data', take).off('end', stop).off('error', stop).off('close', cut);
      if (error === undefined) resolve(Buffer.concat(chunks));
      else reject(error);
    };
    const take = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > bytesMax) stop(tooLarge(bytesMax));
      else chunks.push(chunk);
    };
    const cut = () => stop(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }));
    const timer = setTimeout(() => stop(tooSlow()), limits.bodyMillisMax);
    signal?.addEventListener('abort', () => stop(tooSlow()));
    if (Number(payload.headers['content-length']) > bytesMax) return stop(tooLarge(bytesMax));
    payload.on('data', take).on('end', stop).on('error', stop).on('close', cut);
  });
}

const tooLarge = (bytesMax: number) =>
  new ServiceError('payload_too_large', `the body is larger than ${bytesMax} bytes`);
const tooSlow = () => new ServiceError('request_timeout', 'the body took too long to arrive');

/** A body of any length, piece by piece; what is left of it after an error is dropped by `dropRest`. */
export async function* streamBody(payload: Readable): AsyncGenerator<Uint8Array> {
  const pieces = payload.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Uint8Array>;
  try {
    for (;;) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(tooSlow()), limits.bodyIdleMillisMax);
      });
      const { done, value } = await Promise.race([pieces.next(), late]).finally(() => clearTimeout(timer));
      if (done) return;
      yield value;
    }
  } finally {
    // Lets go of the stream, so that the rest can flow; not waited for, since a piece may still be due.
    void pieces.return?.();
  }
}

/**
 * An answer may come before the whole body did. A client that is still sending would not see it if the connection were
 * closed, so the rest is read and dropped, up to a bound.
 */
export const dropRest: onSendHookHandler = (request, reply, payload, done) => {
  // Fastify means to close the connection after a body that it could not read; we read them all.
  if (reply.hasHeader('connection')) reply.removeHeader('connection');
  if (request.raw.complete || !hasBody(request.raw)) return done(null, payload);
  drop(request, reply).then(() => done(null, payload), done);
};

async function drop(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { raw } = request;
  const { socket } = raw;
  // Whoever may send an upload of any length may finish it, and then reads what was wrong with it.
  const isUpload = request.caller !== null && request.routeOptions.config.isUpload === true;
  let bytes = 0;
  const timer = setTimeout(() => socket.destroy(), limits.drainMillisMax).unref();
  raw.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (isUpload) timer.refresh();
    else if (bytes > limits.drainBytesMax) socket.destroy();
  });
  const ended = new Promise<void>((resolve) => raw.once('end', resolve).once('close', resolve));
  void ended.then(() => clearTimeout(timer));
  raw.resume();
  if (reply.raw.shouldKeepAlive) return;
  // Most often the rest is already on its way, and the answer can close the connection as any other does.
  await Promise.race([ended, sleep(limits.closeGraceMillis)]);
  if (!raw.complete) closeWhenDropped(request, reply);
}

/** Node closes a connection that is not kept alive as soon as the answer is out; here the rest is read first. */
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
