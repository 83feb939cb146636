import assert from 'node:assert/strict';
import { it, mock } from 'node:test';
import { limits } from '../../src/contract/limits.ts';
import type { PageStream } from '../../src/domain/store/store.ts';
import { LargePages } from '../../src/store/large-pages.ts';

const page: PageStream = {
  version: 'v',
  first_message_exists: true,
  bytes: 0,
  next: undefined,
  chunks: (async function* () {})(),
  close: () => undefined,
};
const openPage = async () => page;
const never = new AbortController().signal;

it('503: a request that waits too long for a slot is rejected, and takes no slot later', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const slots = new LargePages(1);
  const open = await slots.open(openPage, never);
  const rejected = assert.rejects(slots.open(openPage, never), { code: 'service_unavailable' });
  mock.timers.tick(limits.largePageWaitMillisMax);
  await rejected;
  open?.close();
  assert.equal((await slots.open(openPage, never))?.version, 'v');
});

it('a client that leaves while it waits takes no slot', async () => {
  const slots = new LargePages(1);
  const open = await slots.open(openPage, never);
  const leaving = new AbortController();
  const rejected = assert.rejects(slots.open(openPage, leaving.signal), /disconnected/);
  const waiting = slots.open(openPage, never);
  leaving.abort();
  await rejected;
  open?.close();
  open?.close();
  const next = await waiting;
  assert.equal(next?.version, 'v');
  let isOpen = false;
  const last = slots.open(openPage, never).then((page) => {
    isOpen = true;
    return page;
  });
  await new Promise(setImmediate);
  assert.equal(isOpen, false, 'closing a page twice frees one slot only');
  next?.close();
  (await last)?.close();
});

it('a page that does not exist, or cannot be opened, frees its slot', async () => {
  const slots = new LargePages(1);
  assert.equal(await slots.open(async () => undefined, never), undefined);
  const failing = async () => {
    throw new Error('no database');
  };
  await assert.rejects(slots.open(failing, never), /no database/);
  assert.equal((await slots.open(openPage, never))?.version, 'v');
});
