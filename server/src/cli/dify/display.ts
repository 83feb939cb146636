import { closeSync, openSync, writeSync } from 'node:fs';
import { limits } from '../../contract/limits.ts';
import type { Lag } from '../../dify/follower.ts';
import type { Progress } from '../../dify/run-context.ts';
import type { Report, Skip } from '../../dify/source.ts';
import { fileError } from '../command.ts';
import { print, showLine, timeOf, visible } from '../terminal.ts';
import { skippedFile } from './help.ts';

/** Counts what was skipped, and lists it in a file. A dry run has no file. */
export class SkipReport implements Report {
  readonly #isStrict: boolean;
  readonly #isDry: boolean;
  readonly #counts = new Map<string, number>();
  readonly #reasons = new Map<string, number>();
  #file: number | undefined;
  total = 0;

  constructor(isStrict: boolean, isDry: boolean) {
    this.#isStrict = isStrict;
    this.#isDry = isDry;
  }

  skip(skip: Skip): void {
    const { kind, id, part, reason, detail } = skip;
    if (this.#isStrict) {
      const what = part === undefined ? `${kind} ${id}` : `${kind} ${id}: ${part}`;
      throw new Error(`${what}: ${reason}${detail === undefined ? '' : ` (${detail})`}`);
    }
    this.total += 1;
    const key = `${kind}${part === undefined ? '' : `: ${part.replace(/\[\d+\]/g, '')}`}: ${reason}`;
    this.#reasons.set(key, (this.#reasons.get(key) ?? 0) + 1);
    if (!this.#isDry) this.#write(JSON.stringify(skip));
  }

  count(what: string, n = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + n);
  }

  print(): void {
    for (const [what, n] of this.#counts) print(`${n} ${what}`);
    if (this.total === 0) return;
    print(`${this.total} skipped${this.#isDry ? '' : `, listed in ${skippedFile}`}:`);
    for (const [reason, n] of this.#reasons) print(`  ${n}  ${visible(reason)}`);
  }

  #write(line: string): void {
    try {
      this.#file ??= openSync(skippedFile, 'w', 0o600);
      writeSync(this.#file, `${line}\n`);
    } catch (error) {
      throw fileError(skippedFile, error);
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }
}

const barWidth = 24;

/** A bar on a terminal; elsewhere a line with the time, at most every 30 seconds. */
export class ProgressDisplay {
  readonly #isTerminal = process.stderr.isTTY;
  #phase = '';
  #begunAt = 0;
  #printedAt = Date.now();
  #followed = 0;
  #hasLag = false;

  showProgress(progress: Progress): void {
    const now = Date.now();
    if (progress.phase !== this.#phase) [this.#phase, this.#begunAt] = [progress.phase, now];
    if (this.#phase === '' || this.#hasLag) return;
    if (this.#isTerminal) showLine(`${barOf(progress)}${textOf(progress, now - this.#begunAt)}`);
    else this.#printLine(textOf(progress, now - this.#begunAt), now);
  }

  showLag({ messages, others }: Lag, written: number): void {
    this.#followed += written;
    const lag = `lag ${messages.toFixed(1)} s, documents, feedback and deletions ${others.toFixed(1)} s`;
    const text = `${this.#followed} records since the start of following, ${lag}`;
    if (!this.#hasLag) this.#printedAt = 0;
    this.#hasLag = true;
    if (this.#isTerminal) showLine(text);
    else this.#printLine(text, Date.now());
  }

  #printLine(text: string, now: number): void {
    if (now < this.#printedAt + limits.progressLogMillis) return;
    this.#printedAt = now;
    print(withTime(text));
  }
}

/** A line of a process that runs for long. */
export const withTime = (text: string): string => `${timeOf(Math.floor(Date.now() / 1000))} ${text}`;

/** The part that is done, 1 at most: the total may be an estimate. */
const partOf = ({ done, total }: Progress): number | undefined =>
  total === undefined ? undefined : Math.min(1, done / Math.max(1, total));

function barOf(progress: Progress): string {
  const part = partOf(progress);
  if (part === undefined) return '';
  const full = Math.round(part * barWidth);
  return `[${'#'.repeat(full)}${'.'.repeat(barWidth - full)}] `;
}

/** For example: `importing: 1,200 of 4,800 rows (25 %), 400/s, 9 s left`. */
export function textOf(progress: Progress, millis: number): string {
  const { phase, done, total } = progress;
  const count = (n: number) => Math.round(n).toLocaleString('en');
  const rate = (done * 1000) / Math.max(1, millis);
  const part = partOf(progress);
  if (total === undefined || part === undefined) return `${phase}: ${count(done)} rows, ${count(rate)}/s`;
  const left = rate > 0 ? `, ${durationOf(Math.max(0, total - done) / rate)} left` : '';
  return `${phase}: ${count(done)} of ${count(total)} rows (${Math.floor(part * 100)} %), ${count(rate)}/s${left}`;
}

function durationOf(seconds: number): string {
  if (seconds < 100) return `${Math.ceil(seconds)} s`;
  return seconds < 6_000 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`;
}
