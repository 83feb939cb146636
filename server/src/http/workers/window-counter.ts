import { hash, randomFillSync } from 'node:crypto';

/** A window of a key: its number of hits, and when it ends, in milliseconds. */
export type Window = { count: number; until: number };
/** `before` is the number of hits in the key's last window, as far as it is still in memory. */
export type StartedWindow = Window & { before: number };

const bucketsMax = 16_384;
const slotsPerBucket = 16;
const slotsMax = bucketsMax * slotsPerBucket;
const seedBytes = 32;
/** Offsets of the parts of the memory. A slot has the digest of its key in two words, the end of its window, and a count. */
const untilAt = seedBytes;
const digestsAt = untilAt + slotsMax * 8;
const countsAt = digestsAt + slotsMax * 8;
const locksAt = countsAt + slotsMax * 4;
const bytes = locksAt + bucketsMax * 4;

/** A lock is held for less than a microsecond, unless the operating system pauses its thread. */
const spinsMax = 100;
/** If a thread died with a lock, the others go on after this many waits of a millisecond. */
const waitsMax = 100;

/**
 * Counts hits by key, in windows of fixed length that start with the key's first hit, in memory that all workers share. It is
 * a hash table of fixed size. A key is identified by a digest with a secret seed, so a client cannot choose which keys
 * share a bucket. In a full bucket, a new key replaces the one whose window ends first.
 */
export class WindowCounter {
  readonly #windowMillis: number;
  readonly #seed: string;
  readonly #until: Float64Array<SharedArrayBuffer>;
  readonly #digests: Int32Array<SharedArrayBuffer>;
  readonly #counts: Int32Array<SharedArrayBuffer>;
  readonly #locks: Int32Array<SharedArrayBuffer>;

  constructor(memory: SharedArrayBuffer, windowMillis: number) {
    this.#windowMillis = windowMillis;
    this.#until = new Float64Array(memory, untilAt, slotsMax);
    this.#digests = new Int32Array(memory, digestsAt, slotsMax * 2);
    this.#counts = new Int32Array(memory, countsAt, slotsMax);
    this.#locks = new Int32Array(memory, locksAt, bucketsMax);
    this.#seed = Buffer.from(memory, 0, seedBytes).toString('hex');
  }

  static create(): SharedArrayBuffer {
    const memory = new SharedArrayBuffer(bytes);
    randomFillSync(new Uint8Array(memory, 0, seedBytes));
    return memory;
  }

  /** The window so far; a new one without hits if none is open. */
  get(key: string, now: number): Window {
    return this.#locked(key, (bucket, high, low) => {
      const slot = this.#find(bucket, high, low);
      if (slot === undefined || !this.#isOpen(slot, now)) return { count: 0, until: now + this.#windowMillis };
      return { count: this.#counts[slot] ?? 0, until: this.#until[slot] ?? 0 };
    });
  }

  /** Adds one hit and returns the window. */
  hit(key: string, now: number): StartedWindow {
    return this.#locked(key, (bucket, high, low) => {
      const last = this.#find(bucket, high, low);
      const isOpen = last !== undefined && this.#isOpen(last, now);
      const before = isOpen || last === undefined ? 0 : (this.#counts[last] ?? 0);
      const slot = isOpen ? last : this.#start(last ?? this.#choose(bucket, now), high, low, now);
      const count = (this.#counts[slot] ?? 0) + 1;
      this.#counts[slot] = count;
      return { count, until: this.#until[slot] ?? 0, before };
    });
  }

  #locked<T>(key: string, work: (bucket: number, high: number, low: number) => T): T {
    const digest = hash('sha256', this.#seed + key, 'buffer');
    const bucket = digest.readUInt32LE(8) % bucketsMax;
    this.#lock(bucket);
    try {
      return work(bucket, digest.readInt32LE(0), digest.readInt32LE(4));
    } finally {
      Atomics.store(this.#locks, bucket, 0);
    }
  }

  #lock(bucket: number): void {
    for (let tries = 0; tries < spinsMax + waitsMax; tries += 1) {
      if (Atomics.compareExchange(this.#locks, bucket, 0, 1) === 0) return;
      if (tries >= spinsMax) Atomics.wait(this.#locks, bucket, 1, 1);
    }
  }

  /** The slot of a key, even if its window has ended. */
  #find(bucket: number, high: number, low: number): number | undefined {
    const first = bucket * slotsPerBucket;
    for (let slot = first; slot < first + slotsPerBucket; slot += 1) {
      if (this.#digests[slot * 2] === high && this.#digests[slot * 2 + 1] === low) return slot;
    }
    return undefined;
  }

  /** A slot without an open window, or else the one whose window ends first. */
  #choose(bucket: number, now: number): number {
    const first = bucket * slotsPerBucket;
    let chosen = first;
    for (let slot = first; slot < first + slotsPerBucket; slot += 1) {
      if (!this.#isOpen(slot, now)) return slot;
      if ((this.#until[slot] ?? 0) < (this.#until[chosen] ?? 0)) chosen = slot;
    }
    return chosen;
  }

  #start(slot: number, high: number, low: number, now: number): number {
    this.#digests[slot * 2] = high;
    this.#digests[slot * 2 + 1] = low;
    this.#until[slot] = now + this.#windowMillis;
    this.#counts[slot] = 0;
    return slot;
  }

  /** False if the window has ended, or starts in the future: then the clock was set back, which must not block a client. */
  #isOpen(slot: number, now: number): boolean {
    const until = this.#until[slot] ?? 0;
    return until > now && until - this.#windowMillis <= now;
  }
}

/** Whole seconds until a window ends: the value of `Retry-After`. */
export const secondsLeft = ({ until }: Window, now: number): number => Math.ceil((until - now) / 1000);
