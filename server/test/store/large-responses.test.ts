import assert from 'node:assert/strict';
import { it, mock } from 'node:test';
import { limits } from '../../src/contract/limits.ts';
import { Slots, slotCounts } from '../../src/store/base/large-responses.ts';

const page = { version: 'v', close: () => undefined };
const openPage = async () => page;
const never = new AbortController().signal;

it('503: a request that waits too long for a slot is rejected, and takes no slot later', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const slots = new Slots(1);
  const open = await slots.open(openPage, never);
  const rejected = assert.rejects(slots.open(openPage, never), { code: 'service_unavailable' });
  mock.timers.tick(limits.largePageWaitMillisMax);
  await rejected;
  open?.close();
  assert.equal((await slots.open(openPage, never))?.version, 'v');
});

it('a client that leaves while it waits takes no slot', async () => {
  const slots = new Slots(1);
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
  const slots = new Slots(1);
  assert.equal(await slots.open(async () => undefined, never), undefined);
  const failing = async () => {
    throw new Error('no database');
  };
  await assert.rejects(slots.open(failing, never), /no database/);
  assert.equal((await slots.open(openPage, never))?.version, 'v');
});

it('threads share the slots, and a thread that waits gets the slot that another releases', async () => {
  const counts = slotCounts(2);
  const [one, other] = [0, 1].map((thread) => new Slots(2, 2, { counts, thread })) as [Slots, Slots];
  const releases = [await one.acquire(never), await one.acquire(never)];
  const gone = new AbortController();
  const left = assert.rejects(one.acquire(gone.signal), /disconnected/);
  let isHeld = false;
  const waiting = other.acquire(never).then((release) => {
    isHeld = true;
    return release;
  });
  gone.abort();
  await left;
  assert.equal(isHeld, false);
  // The thread that began to wait first is woken first; its request has left.
  releases[0]?.();
  (await waiting)();
  releases[1]?.();
  assert.deepEqual([...counts], [0, 0, 0]);
});

it('a thread has no more slots than its own limit, and those of a dead thread are free again', async () => {
  const counts = slotCounts(2);
  const slots = new Slots(3, 1, { counts, thread: 1 });
  await slots.acquire(never);
  const killed = new AbortController();
  const second = assert.rejects(slots.acquire(killed.signal), /disconnected/);
  await new Promise(setImmediate);
  assert.deepEqual([...counts], [1, 0, 1]);
  const successor = new Slots(3, 1, { counts, thread: 1 });
  assert.deepEqual([...counts], [0, 0, 0]);
  await successor.acquire(never);
  assert.deepEqual([...counts], [1, 0, 1]);
  killed.abort();
  await second;
});
