/** Values of a plot, one for each point. `look` is the colour and pattern. */
export type Series = { name: string; look: number; values: readonly (number | null)[] };

export type PlotProps = {
  title: string;
  /** The number to read first, and the others in words. */
  figure?: string;
  summary: string;
  /** For screen readers only: the numbers are on the page. */
  hidesSummary?: boolean;
  kind: 'bars' | 'lines';
  series: readonly Series[];
  /** The name of each point, its time in seconds, and its short label below the plot. */
  points: readonly string[];
  times: readonly number[];
  labels: readonly string[];
  format: (value: number) => string;
  /** A value in short, beside the plot. */
  tick: (value: number) => string;
  /** Address of the link of a point, or of one series there. */
  hrefAt?: (point: number, series?: number) => string;
  /** Words below the title. */
  note?: string;
  /** The values of the period before, as a thin line. */
  before?: readonly number[] | undefined;
  /** This point has not ended: it is hatched. */
  running?: number | undefined;
};

export const sum = (values: readonly (number | null)[]): number =>
  values.reduce<number>((all, value) => all + (value ?? 0), 0);

/** The span of each value when the series are stacked, the first one at the bottom. */
export function stack(series: readonly Series[]): { name: string; look: number; spans: [number, number][] }[] {
  const tops: number[] = [];
  return series.map(({ name, look, values }) => ({
    name,
    look,
    spans: values.map((value, point): [number, number] => {
      const bottom = tops[point] ?? 0;
      tops[point] = bottom + (value ?? 0);
      return [bottom, tops[point]];
    }),
  }));
}

export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}

/** Whether a share is above twice the median. */
export const isOutlier = (share: number, shares: readonly number[]): boolean => share > 2 * medianOf(shares);

/** The sum of all series at each point. */
export function totals(series: readonly Series[]): number[] {
  const length = series[0]?.values.length ?? 0;
  return Array.from({ length }, (_, point) => sum(series.map(({ values }) => values[point] ?? 0)));
}

/** A value as text; a dash if nothing was measured. */
export function textAt({ values }: Series, point: number, format: (value: number) => string): string {
  const value = values[point];
  return value === null || value === undefined ? '–' : format(value);
}
