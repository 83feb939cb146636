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

/** Runs both in turn, in alternating order, and takes medians. Both give a figure of the same kind. */
export async function compare(
  ours: () => Promise<number>,
  theirs: () => Promise<number>,
  pairs = pairsDefault,
): Promise<Compared> {
  const ratios: number[] = [];
  const mine: number[] = [];
  const others: number[] = [];
  for (let at = 0; at < pairs; at += 1) {
    let one: number;
    let other: number;
    if (at % 2 === 0) {
      one = await ours();
      other = await theirs();
    } else {
      other = await theirs();
      one = await ours();
    }
    mine.push(one);
    others.push(other);
    ratios.push(one / other);
  }
  return {
    ratio: quantile(ratios, 0.5),
    spread: [quantile(ratios, 0.25), quantile(ratios, 0.75)],
    ours: quantile(mine, 0.5),
    theirs: quantile(others, 0.5),
  };
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
