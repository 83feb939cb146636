import { fullOr } from './quick.ts';

/** Two systems measured side by side, so that the load of the machine affects both alike. */
export type Comparison = {
  /** Median over the pairs of ours / theirs. */
  ratio: number;
  /** The quartiles of the ratios. */
  spread: [number, number];
  ours: number;
  theirs: number;
};

/** Interleaved rounds. */
const rounds = fullOr(9, 2);

type Measure = () => Promise<number>;

/** Runs both in alternating order and returns medians. Both must measure the same unit. */
export async function compare(ours: Measure, theirs: Measure, times = rounds): Promise<Comparison> {
  const [mine = [], others = []] = await interleave([ours, theirs], times);
  return comparisonOf(mine, others);
}

/** The measurements of each measure, one per round; every second round runs in reverse order. */
export async function interleave(measures: readonly Measure[], times = rounds): Promise<number[][]> {
  const measurements: number[][] = measures.map(() => []);
  for (let round = 0; round < times; round += 1) {
    const order = [...measures.keys()];
    if (round % 2 === 1) order.reverse();
    for (const at of order) measurements[at]?.push((await measures[at]?.()) ?? Number.NaN);
  }
  return measurements;
}

/** Compares measurements that were measured in the same rounds. */
export function comparisonOf(mine: readonly number[], others: readonly number[]): Comparison {
  const ratios = mine.map((one, at) => one / (others[at] ?? Number.NaN));
  return {
    ratio: median(ratios),
    spread: quartiles(ratios),
    ours: median(mine),
    theirs: median(others),
  };
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export const quartiles = (values: readonly number[]): [number, number] => [
  quantile(values, 0.25),
  quantile(values, 0.75),
];
