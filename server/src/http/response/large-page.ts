import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { limits } from '../../contract/limits.ts';
import type { LargeText } from '../../domain/large-text.ts';

export function sendJson(reply: FastifyReply, body: string | LargeText): FastifyReply {
  reply.header('content-type', 'application/json; charset=utf-8');
  return typeof body === 'string' ? reply.send(body) : sendLargePage(reply, body);
}

/** Sends a large page, with its length if it is known. For HEAD only the length is sent. */
export function sendLargePage(reply: FastifyReply, page: LargeText): FastifyReply {
  if (page.bytes !== undefined) reply.header('content-length', page.bytes);
  if (reply.request.method !== 'HEAD') return reply.send(readLargePage(page));
  page.close();
  // For HEAD, Fastify reads a stream to its end, and without a stream it replaces the length.
  return reply.send(Readable.from([]));
}

/**
 * Streams the text of a large page at the speed of its reader. The page holds a snapshot of the database, so a reader that
 * is slow for a while is disconnected; not one that waits for the database. The page is closed when the response ends, for whatever reason.
 */
export function readLargePage(page: LargeText): Readable {
  const { slowReaderMillis, slowReaderBytesPerSecond, largePageWriteBytes } = limits;
  let taken = 0;
  let takenBefore = 0;
  let isOffered = false;
  async function* slices() {
    for await (const chunk of page.chunks) {
      for (let start = 0; start < chunk.length; start += largePageWriteBytes) {
        const slice = chunk.subarray(start, start + largePageWriteBytes);
        isOffered = true;
        yield slice;
        isOffered = false;
        taken += slice.length;
      }
    }
  }
  const text = Readable.from(slices());
  const timer = setInterval(() => {
    if (isOffered && taken - takenBefore < (slowReaderBytesPerSecond * slowReaderMillis) / 1000) {
      text.destroy(new Error('the reader of a large page is too slow'));
    }
    takenBefore = taken;
  }, slowReaderMillis);
  return text.once('close', () => {
    clearInterval(timer);
    page.close();
  });
}
