import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { arch, cpus, platform, release, totalmem } from 'node:os';
import { resolve } from 'node:path';
import type { Goal, Measured } from './goal.ts';

export type Row = { goal: Goal; measured: Measured | string };

const page = resolve(import.meta.dirname, '../../docs/understand/performance.md');
const [start, end] = ['<!-- table -->', '<!-- end of the table -->'];

/** The results in Markdown. Only ratios count: other values depend on the machine. */
export function tableOf(rows: readonly Row[]): string {
  const head = ['#', 'what', 'against', 'ratio (quartiles)', 'goal', 'measured', 'why'];
  const lines = rows.map(({ goal, measured }, at) => {
    const { what, against, why, target } = goal;
    const bound = target === undefined ? 'shown' : 'min' in target ? `≥ ${target.min}` : `≤ ${target.max}`;
    if (typeof measured === 'string') return [at + 1, what, against, '–', bound, `not measured: ${measured}`, why];
    const [low, high] = measured.spread.map(decimals);
    const verdict =
      target === undefined ? bound : `${bound}, ${isReached(measured.ratio, target) ? '' : '**not** '}reached`;
    const values = `${decimals(measured.ours)} against ${decimals(measured.theirs)} ${measured.unit}`;
    const note = measured.note === undefined ? '' : `; ${measured.note}`;
    return [at + 1, what, against, `**${decimals(measured.ratio)}** (${low} – ${high})`, verdict, values + note, why];
  });
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const isReached = (ratio: number, target: { min: number } | { max: number }): boolean =>
  'min' in target ? ratio >= target.min : ratio <= target.max;

/** About three digits. */
export const decimals = (value: number): string => {
  const size = Math.abs(value);
  return value.toLocaleString('en', { maximumFractionDigits: size < 10 ? 2 : size < 100 ? 1 : 0 });
};

/** The machine and the commit that were measured. */
export function describeMachine(): string {
  const memory = Math.round(totalmem() / 2 ** 30);
  const machine = `${cpus()[0]?.model.trim()}, ${cpus().length} cores, ${memory} GB; ${platform()} ${release()} ${arch()}`;
  return `Commit ${commit()}, ${new Date().toISOString().slice(0, 10)}; ${machine}; Node.js ${process.version}.`;
}

function commit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8' }).trim();
  const hasChanges = git('status', '--porcelain', '--untracked-files=no') !== '';
  return git('rev-parse', '--short=12', 'HEAD') + (hasChanges ? ' with changes' : '');
}

/** Replaces the table of docs/understand/performance.md. */
export function publish(text: string): void {
  const [before, after] = readFileSync(page, 'utf8').split(new RegExp(`${start}[^]*${end}`));
  writeFileSync(page, `${before}${start}\n\n${text}\n\n${end}${after}`);
}
