import { pino } from 'pino';

/** How long a line may wait for others to be written with it. */
const waitMillis = 50;
const bufferUnitsMax = 65_536;
/** Maximum size of the lines that are buffered while standard output cannot be written. */
const unwrittenUnitsMax = 1_048_576;

/** Writes to standard output. */
export function standardOutput(): (text: string) => void {
  const output = pino.destination({ dest: 1, sync: true, maxLength: unwrittenUnitsMax });
  // A full disk or a closed pipe does not end the service. Buffered lines are written when the output works again.
  output.on('error', () => undefined);
  return (text) => void output.write(text);
}

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
    process.on('exit', () => this.flush());
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
