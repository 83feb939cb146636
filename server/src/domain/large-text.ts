import { setImmediate as nextTick } from 'node:timers/promises';
import { limits } from '../contract/limits.ts';
import { clientDisconnected } from './errors.ts';

/**
 * A response that is too large for memory: its length, if it is known, and its text in chunks, which are read while they are sent, all from
 * one snapshot. The snapshot lasts until `close`. The caller must always close it, even if the text was not read. Closing it
 * twice is harmless.
 */
export type LargeText = Opened<Uint8Array> & { bytes?: number };

/** Parts that are read from a snapshot, one after another. The snapshot lasts until `close`, as that of `LargeText`. */
export type Opened<T> = { chunks: AsyncIterable<T>; close(): void };

/** `includes`: whether one of its items has this text. It reads all of them. */
export type LargeList = LargeText & { includes(text: string): Promise<boolean> };

/**
 * A row of a list. `bytes`: the size of its texts. `row` is undefined if it is large: then it is read when it is needed, and is
 * undefined if it does not exist any more.
 */
export type Listed<R> = { bytes: number; row: R | undefined; readLarge(): Promise<R | undefined> };

/** Parts of a JSON text. */
export type TextParts = Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

/** A list of JSON texts in a snapshot, before its texts are read. */
export type LargeItems<I> = {
  /** The JSON text before and after the items. */
  head: string;
  tail: string;
  /** `bytes` is about the size of an item, for the size of a batch. */
  items: readonly (I & { bytes: number })[];
  /** The texts of some items, joined by commas. */
  read(batch: readonly I[]): Promise<TextParts>;
  /** Length of all items without the commas, if it is known before they are read. */
  itemBytes?: number;
  close(): void;
};

export function openText<I>(list: LargeItems<I>): LargeList {
  const { head, tail, items, itemBytes, close } = list;
  const commas = Math.max(0, items.length - 1);
  const bytes = itemBytes === undefined ? undefined : Buffer.byteLength(head + tail) + itemBytes + commas;
  const includes = async (text: string) => {
    // A large item comes in several parts, and the text may be in two of them.
    let end = Buffer.alloc(0);
    for await (const part of partsOf(list)) {
      const joined = Buffer.concat([end, Buffer.from(part)]);
      if (joined.includes(text)) return true;
      end = joined.subarray(1 - Buffer.byteLength(text));
    }
    return false;
  };
  return { ...(bytes !== undefined && { bytes }), chunks: joinParts(partsOf(list)), includes, close };
}

/** A tick of the event loop in which nothing was done is shorter. */
const idleTickMillis = 0.05;
const turnMillisMax = 50;

/**
 * Large texts of a thread take turns, one slice in each. A turn begins when the event loop has nothing else to do: Node.js accepts
 * one connection in a tick, so a slice in each tick would delay requests on new connections many times over. While there is always
 * something else to do, it begins after `turnMillisMax`.
 */
let turn = Promise.resolve();
export const nextTurn = (): Promise<void> => {
  turn = turn.then(waitForTurn);
  return turn;
};

let lastRead: Promise<unknown> = Promise.resolve();
/** Reads texts as a whole: large ones of one request at a time, and not for a client that has disconnected meanwhile. */
export function readInTurn<T>(bytes: number, signal: AbortSignal | undefined, read: () => Promise<T>): Promise<T> {
  if (bytes <= limits.largePageWriteBytes) return read();
  const result = lastRead.then(nextTurn).then(() => {
    if (signal?.aborted) throw clientDisconnected();
    return read();
  });
  lastRead = result.catch(() => undefined);
  return result;
}

async function waitForTurn(): Promise<void> {
  await nextTick();
  const start = performance.now();
  for (let last = start; ; ) {
    await nextTick();
    const now = performance.now();
    if (now - last < idleTickMillis || now - start > turnMillisMax) return;
    last = now;
  }
}

async function* partsOf<I>({ head, tail, items, read }: LargeItems<I>): AsyncGenerator<string | Uint8Array> {
  yield head;
  let isFirst = true;
  for (const batch of slicesOf(items)) {
    let isStart = true;
    for await (const part of await read(batch)) {
      if (isStart && !isFirst) yield ',';
      isStart = false;
      isFirst = false;
      yield part;
    }
    await nextTurn();
  }
  yield tail;
}

/** Small parts are joined, so that few chunks are sent. */
async function* joinParts(parts: AsyncIterable<string | Uint8Array>): AsyncGenerator<Uint8Array> {
  let small: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of parts) {
    const chunk = typeof part === 'string' ? Buffer.from(part) : part;
    small.push(chunk);
    bytes += chunk.length;
    if (bytes < limits.joinedDocBytesMax) continue;
    yield* chunk.length === bytes ? small : [Buffer.concat(small)];
    [small, bytes] = [[], 0];
  }
  yield Buffer.concat(small);
}

export const bytesOf = (items: readonly { bytes: number }[]): number =>
  items.reduce((sum, { bytes }) => sum + bytes, 0);

/** Items that are read together: their texts have at most `bytesMax`, or it is one larger item. */
export function* slicesOf<I extends { bytes: number }>(
  items: readonly I[],
  bytesMax: number = limits.largePageReadBytes,
): Generator<I[]> {
  let slice: I[] = [];
  let bytes = 0;
  for (const item of items) {
    if (slice.length > 0 && bytes + item.bytes > bytesMax) {
      yield slice;
      [slice, bytes] = [[], 0];
    }
    slice.push(item);
    bytes += item.bytes;
  }
  if (slice.length > 0) yield slice;
}

/** Texts of rows, joined by commas. */
export function* joinTexts<R, T extends string | Uint8Array>(
  rows: readonly R[],
  textOf: (row: R) => T,
): Generator<T | string> {
  for (const [index, row] of rows.entries()) {
    if (index > 0) yield ',';
    yield textOf(row);
  }
}
