import { pino } from 'pino';

/** How long a line may wait for others to be written with it. */
const waitMillis = 50;
const bytesMax = 65_536;
/** What is kept of the log while it cannot be written. */
const unwrittenUnitsMax = 1_048_576;

/**
 * Standard output for the log: lines that come close together are written at once, since a write a request would cost
 * more than most requests do. What waits is written when the process ends, unless it is killed.
 */
export class BufferedLog {
  readonly #output = pino.destination({ dest: 1, sync: true, maxLength: unwrittenUnitsMax });
  #text = '';
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    // A full disk or a reader of the log who is gone does not end the service. What waits is written when that is over.
    this.#output.on('error', () => undefined);
    process.on('exit', () => this.flush());
  }

  write(line: string): void {
    this.#text += line;
    if (this.#text.length >= bytesMax) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), waitMillis).unref();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#text === '') return;
    const text = this.#text;
    this.#text = '';
    this.#output.write(text);
  }
}
