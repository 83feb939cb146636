import assert from 'node:assert/strict';
import { once } from 'node:events';
import { it, mock } from 'node:test';
import { limits } from '../../src/contract/limits.ts';
import type { LargePage } from '../../src/domain/list-messages.ts';
import { readLargePage } from '../../src/http/front/large-page.ts';

const chunk = new Uint8Array(limits.largePageWriteBytes);
const windowBytes = (limits.slowReaderBytesPerSecond * limits.slowReaderMillis) / 1000;

/** A page that never ends, and whether it is closed. */
function endlessPage(): { page: LargePage; isClosed: () => boolean } {
  let isClosed = false;
  async function* text() {
    for (;;) yield chunk;
  }
  const close = () => {
    isClosed = true;
  };
  return { page: { tag: 't', next: undefined, bytes: 0, text: text(), close }, isClosed: () => isClosed };
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
