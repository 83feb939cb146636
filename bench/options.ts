import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { pairsDefault } from './pairs.ts';

/** Where the last run stands, for people and for `draw.ts`. */
export const lastRun = resolve(import.meta.dirname, 'last-run.json');

export const help = `Usage: npm run bench [-- OPTIONS]

Measures this service against its limits, side by side in one run, and prints a table. It takes a few minutes and some
gigabytes of the folder for temporary files (TMPDIR), which it gives back. Close what else keeps the machine busy.

Options:
  --only 1,2,3  only these goals
  --large       also the database of 5 million messages (goal 7): some minutes and 5 GB more
  --pairs N     interleaved pairs of rounds, ${pairsDefault} unless said; fewer are only a trial
  --json FILE   where the figures go; bench/last-run.json unless said
  --help        this text

The plots and the table in docs/ are made from the figures of a run by: node bench/draw.ts [FILE]`;

export type Options = { only: ReadonlySet<number>; large: boolean; pairs: number; json: string; help: boolean };

export class BadUsage extends Error {}

export function readOptions(argv: string[], goals: readonly number[]): Options {
  const { only, large = false, pairs, json = lastRun, help = false } = parse(argv);
  return {
    only: new Set(only === undefined ? goals : only.split(',').map((text) => goalOf(text, goals))),
    large,
    pairs: pairs === undefined ? pairsDefault : pairsOf(pairs),
    json: resolve(json),
    help,
  };
}

function parse(argv: string[]) {
  try {
    return parseArgs({
      args: argv,
      options: {
        only: { type: 'string' },
        large: { type: 'boolean' },
        pairs: { type: 'string' },
        json: { type: 'string' },
        help: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    throw new BadUsage((error as Error).message);
  }
}

function goalOf(text: string, goals: readonly number[]): number {
  const goal = goals.find((one) => `${one}` === text.trim());
  if (goal === undefined) throw new BadUsage(`--only ${text}: goals are ${goals.join(', ')}`);
  return goal;
}

function pairsOf(text: string): number {
  if (!/^[1-9]\d?$/.test(text)) throw new BadUsage(`--pairs ${text}: must be a whole number from 1 to 99`);
  return Number(text);
}
