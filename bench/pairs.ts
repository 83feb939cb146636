/** Two things measured side by side: what one does against the other, free of how busy the machine is. */
export type Compared = {
  /** Median over the pairs of ours / theirs. */
  ratio: number;
  /** The middle half of the ratios. */
  spread: [number, number];
  ours: number;
  theirs: number;
};

export const pairsDefault = 9;

type Measure = () => Promise<number>;

/** Runs both in turn, in alternating order, and takes medians. Both give a figure of the same kind. */
export async function compare(ours: Measure, theirs: Measure, pairs = pairsDefault): Promise<Compared> {
  const [mine = [], others = []] = await interleave([ours, theirs], pairs);
  return compared(mine, others);
}

/** The figures of each, round by round; every other round goes backwards. */
export async function interleave(measures: readonly Measure[], rounds: number): Promise<number[][]> {
  const figures: number[][] = measures.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    const order = [...measures.keys()];
    if (round % 2 === 1) order.reverse();
    for (const at of order) figures[at]?.push((await measures[at]?.()) ?? Number.NaN);
  }
  return figures;
}

/** Figures that were taken in the same rounds. */
export function compared(mine: readonly number[], others: readonly number[]): Compared {
  const ratios = mine.map((one, at) => one / (others[at] ?? Number.NaN));
  return {
    ratio: median(ratios),
    spread: middleHalf(ratios),
    ours: median(mine),
    theirs: median(others),
  };
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export const middleHalf = (values: readonly number[]): [number, number] => [
  quantile(values, 0.25),
  quantile(values, 0.75),
];

/** Figures of several things against something that grows, for a plot. */
export const pointsOf = (grows: readonly number[], figures: readonly number[][]) =>
  grows.map((at, index): [number, number, number, number] => {
    const values = figures[index] ?? [];
    return [at, median(values), ...middleHalf(values)];
  });
