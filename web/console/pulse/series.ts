/** What a plot shows: values of one kind of thing at the same points. `look` is its colour and pattern, 0 to 6. */
export type Series = { name: string; look: number; values: readonly (number | null)[] };

export const sum = (values: readonly (number | null)[]): number =>
  values.reduce<number>((all, value) => all + (value ?? 0), 0);

/** From where to where each value reaches when the series stand on each other, the first one at the foot. */
export function stack(series: readonly Series[]): { name: string; look: number; spans: [number, number][] }[] {
  const tops: number[] = [];
  return series.map(({ name, look, values }) => ({
    name,
    look,
    spans: values.map((value, point): [number, number] => {
      const foot = tops[point] ?? 0;
      tops[point] = foot + (value ?? 0);
      return [foot, tops[point]];
    }),
  }));
}

/** The height of the whole stack at each point. */
export function totals(series: readonly Series[]): number[] {
  const length = series[0]?.values.length ?? 0;
  return Array.from({ length }, (_, point) => sum(series.map(({ values }) => values[point] ?? 0)));
}

/** A value as it is read; there is none where nothing was measured. */
export function wordsAt({ values }: Series, point: number, format: (value: number) => string): string {
  const value = values[point];
  return value === null || value === undefined ? '–' : format(value);
}
