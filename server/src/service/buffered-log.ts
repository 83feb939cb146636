import { writeSync } from 'node:fs';
import { type Logger, pino } from 'pino';
import type { Config } from '../config.ts';
import { limits } from '../contract/limits.ts';

/** Time between two attempts to write the log to a full pipe: longer, the longer it is full. */
const logRetryMillisMin = 1;
const logRetryMillisMax = 100;
/** At its end, the process waits at most this long until the log is read. */
const logFinishMillisMax = 1_000;

/** Longest delay of a line that waits to be written together with others. */
const waitMillis = 50;
const bufferUnitsMax = 65_536;
const standardOutputFd = 1;

/**
 * Standard output of the process. Writing never waits: what a pipe does not accept, because no one reads it, is buffered and
 * written later. Text beyond the limit of the buffer is dropped, and the number of its lines is logged as soon as the pipe
 * accepts text again. The same holds for a full disk and a closed pipe.
 */
export class StandardOutput {
  /** The number of dropped lines, for all threads. */
  readonly dropped = new SharedArrayBuffer(Uint32Array.BYTES_PER_ELEMENT);
  readonly #dropped = new Uint32Array(this.dropped);
  #reportedDrops = 0;
  #buffered: Buffer[] = [];
  #bufferedBytes = 0;
  readonly #format: (lines: string) => string;
  #retryMillis: number = logRetryMillisMin;
  #timer: NodeJS.Timeout | undefined;

  /** `format` gets lines of JSON and returns what is written. */
  constructor(format: (lines: string) => string = (lines) => lines) {
    this.#format = format;
    // Node.js makes a pipe or socket non-blocking when it creates this stream: `writeSync` then fails if it is full.
    void process.stdout;
    process.on('exit', () => this.#finish());
  }

  readonly write = (lines: string): void => {
    const bytes = Buffer.from(this.#format(lines));
    if (this.#bufferedBytes + bytes.length > limits.logBufferBytesMax) {
      Atomics.add(this.#dropped, 0, lines.split('\n').length - 1);
      return;
    }
    this.#add(bytes);
    if (this.#timer === undefined) this.#flush();
  };

  #add(bytes: Buffer): void {
    this.#buffered.push(bytes);
    this.#bufferedBytes += bytes.length;
  }

  readonly #flush = (): void => {
    this.#timer = undefined;
    const before = this.#bufferedBytes;
    const isEmpty = this.#tryWriting();
    if (isEmpty) this.#reportDrops();
    if (this.#bufferedBytes === 0) {
      this.#retryMillis = logRetryMillisMin;
      return;
    }
    const hasProgress = this.#bufferedBytes < before;
    this.#timer = setTimeout(this.#flush, this.#retryMillis).unref();
    this.#retryMillis = hasProgress ? logRetryMillisMin : Math.min(this.#retryMillis * 2, logRetryMillisMax);
  };

  /** Returns whether nothing is buffered any more. */
  #tryWriting(): boolean {
    try {
      for (let first = this.#buffered[0]; first !== undefined; first = this.#buffered[0]) {
        const written = writeSync(standardOutputFd, first);
        this.#bufferedBytes -= written;
        if (written === first.length) this.#buffered.shift();
        else this.#buffered[0] = first.subarray(written);
      }
    } catch {
      // The pipe or the disk is full, or the reader is gone: the next attempt may succeed.
    }
    return this.#buffered.length === 0;
  }

  #reportDrops(): void {
    const dropped = Atomics.load(this.#dropped, 0);
    if (dropped === this.#reportedDrops) return;
    const line = { level: 40, time: new Date().toISOString(), dropped: dropped - this.#reportedDrops };
    this.#reportedDrops = dropped;
    const report = JSON.stringify({ ...line, msg: 'log lines were dropped: the log was not read' });
    this.#add(Buffer.from(this.#format(`${report}\n`)));
    this.#tryWriting();
  }

  /** At the end of the process a reader has a moment to read the rest. */
  #finish(): void {
    const deadline = Date.now() + logFinishMillisMax;
    while (!this.#tryWriting() && Date.now() < deadline) pause(logRetryMillisMin);
    this.#reportDrops();
  }
}

const pause = (millis: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millis);

/**
 * The log of one thread. Lines that are close in time are written together: one write per request would cost more than most
 * requests do. Buffered lines are written when the thread ends, unless the process is killed.
 */
export class BufferedLog {
  readonly #output: (text: string) => void;
  #text = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(output: (text: string) => void) {
    this.#output = output;
    // Before the output ends.
    process.prependListener('exit', () => this.flush());
  }

  write(line: string): void {
    this.#text += line;
    if (this.#text.length >= bufferUnitsMax) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), waitMillis).unref();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#text === '') return;
    const text = this.#text;
    this.#text = '';
    this.#output(text);
  }
}

export function loggerOf({ log_level }: Config, lines: BufferedLog): Logger {
  return pino({ level: log_level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, lines);
}
