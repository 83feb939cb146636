import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { it, mock } from 'node:test';
import { limits } from '../../src/contract/limits.ts';
import type { LargeText } from '../../src/domain/large-text.ts';
import { readLargePage } from '../../src/http/response/large-page.ts';
import { SlowReaders } from '../../src/http/workers/slow-readers.ts';
import { onlyWorker } from '../support/workers/state.ts';

const chunk = new Uint8Array(limits.largePageWriteBytes);
const windowBytes = (limits.slowReaderBytesPerSecond * limits.slowReaderMillis) / 1000;

/** A page that never ends, and whether it is closed. */
function endlessPage(): { page: LargeText; isClosed: () => boolean } {
  let isClosed = false;
  async function* text() {
    for (;;) yield chunk;
  }
  const close = () => {
    isClosed = true;
  };
  return { page: { bytes: 0, chunks: text(), close }, isClosed: () => isClosed };
}

/** Reads so many bytes, and then no more. */
async function take(iterator: AsyncIterator<Uint8Array>, bytes: number): Promise<void> {
  for (let taken = 0; taken < bytes; taken += chunk.length) await iterator.next();
}

it('a reader that takes less than the minimum in a window is disconnected, and its page is closed', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.after(() => mock.timers.reset());
  const { page, isClosed } = endlessPage();
  const text = readLargePage(page);
  const closed = once(text, 'close').catch((error: Error) => error);
  const reader = text[Symbol.asyncIterator]();

  await take(reader, windowBytes + 2 * chunk.length);
  mock.timers.tick(limits.slowReaderMillis);
  await take(reader, windowBytes + 2 * chunk.length);
  mock.timers.tick(limits.slowReaderMillis);
  assert.equal(text.destroyed, false, 'a reader at the minimum is never disconnected');

  await take(reader, windowBytes / 2);
  mock.timers.tick(limits.slowReaderMillis);
  assert.equal(text.destroyed, true);
  await closed;
  assert.equal(isClosed(), true);
});

it('a page is closed when its response ends before it was read', async () => {
  const { page, isClosed } = endlessPage();
  const text = readLargePage(page);
  text.destroy();
  await once(text, 'close');
  assert.equal(isClosed(), true);
});

/** A response that has ended, with so many bytes that its client has not read. */
function endedResponse(unread: number) {
  const socket = { writableLength: unread };
  const response = { socket, isDestroyed: false, destroy: () => (response.isDestroyed = true) };
  return response;
}

it('unread responses are bounded: those that ended first are aborted, and clients that read are left alone', () => {
  const readers = new SlowReaders(100, onlyWorker());
  const add = (response: object) => readers.add(response as ServerResponse);
  const [slowest, read, slow] = [endedResponse(40), endedResponse(40), endedResponse(20)];
  for (const response of [slowest, read, slow]) add(response);
  assert.ok(!slowest.isDestroyed, 'within the bound');

  read.socket.writableLength = 0;
  const next = endedResponse(40);
  add(next);
  assert.ok(!slowest.isDestroyed, 'what was read meanwhile does not count');

  const last = endedResponse(30);
  add(last);
  assert.deepEqual(
    [slowest, read, slow, next, last].map(({ isDestroyed }) => isDestroyed),
    [true, false, false, false, false],
  );
  readers.delete(slow as unknown as ServerResponse);
  add(endedResponse(50));
  assert.ok(next.isDestroyed, 'the next in order');
  assert.ok(!last.isDestroyed);
});
