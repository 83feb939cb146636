import { closeSync, openSync, writeSync } from 'node:fs';
import type { Report, Skip } from '../../dify/source.ts';
import { fileError } from '../command.ts';
import { print, visible } from '../output.ts';
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
