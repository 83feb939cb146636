import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { pairsDefault } from './pairs.ts';

/** The file with the measurements of the last run, which `draw.ts` reads. */
export const lastRun = resolve(import.meta.dirname, '../last-run.json');

export const help = `Usage: npm run bench [-- OPTIONS]

Measures this service against its upper bounds, side by side in one run, and prints a table. It takes a few minutes and
several gigabytes of temporary files (TMPDIR), which it removes. Close other programs that use the processor.

Options:
  --only 1,2,3  measure only these goals
  --large       also measure a database of 5 million messages (goals 7, 25 and 26): takes long and 25 GB more
  --messages N  search this many messages (goals 25 and 26; default 200,000)
  --pairs N     interleaved pairs of rounds (default ${pairsDefault}); fewer pairs are only a trial
  --json FILE   file for the measurements (default bench/last-run.json)
  --help        print this text

To write the plots and the table in docs/understand/ from the measurements of a run: node bench/draw.ts [FILE]`;

export type Options = {
  only: ReadonlySet<number>;
  large: boolean;
  messages: number | undefined;
  pairs: number;
  json: string;
  help: boolean;
};

export class UsageError extends Error {}

export function readOptions(argv: string[], goals: readonly number[]): Options {
  const { only, large = false, messages, pairs, json = lastRun, help = false } = parse(argv);
  return {
    only: new Set(only === undefined ? goals : only.split(',').map((text) => goalOf(text, goals))),
    large,
    messages: messages === undefined ? undefined : messagesOf(messages),
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
        messages: { type: 'string' },
        pairs: { type: 'string' },
        json: { type: 'string' },
        help: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function goalOf(text: string, goals: readonly number[]): number {
  const goal = goals.find((one) => `${one}` === text.trim());
  if (goal === undefined) throw new UsageError(`--only ${text}: goals are ${goals.join(', ')}`);
  return goal;
}

function pairsOf(text: string): number {
  if (!/^[1-9]\d?$/.test(text)) throw new UsageError(`--pairs ${text}: must be a whole number from 1 to 99`);
  return Number(text);
}

function messagesOf(text: string): number {
  if (!/^[1-9]\d{2,7}00$/.test(text))
    throw new UsageError(`--messages ${text}: must be a multiple of 100, from 10000 on`);
  return Number(text);
}
