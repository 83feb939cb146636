/** From values to places on a plot, and back to a few round marks beside it. */
export type Scale = { ticks: readonly number[] /** 0 at the foot, 1 at the top. */; place: (value: number) => number };

/** From nothing to a round number over the highest value, in about four steps. Whole steps where only whole things are counted. */
export function linearScale(highest: number, isWhole = false): Scale {
  const step = Math.max(roundStep((highest > 0 ? highest : 1) / 4), isWhole ? 1 : 0);
  const steps = Math.max(1, Math.ceil(highest / step - 1e-9));
  const top = steps * step;
  const ticks = Array.from({ length: steps + 1 }, (_, n) => Number((n * step).toPrecision(12)));
  return { ticks, place: (value) => value / top };
}

/** The smallest of 1, 2, 5, 10 and their tens that is not below it. */
export function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const times = [1, 2, 5, 10].find((times) => times * power >= least * (1 - 1e-9)) ?? 10;
  return Number((times * power).toPrecision(12));
}

/** Powers of ten around the values, for those that differ by more than a plain scale can show. */
export function logScale(lowest: number, highest: number): Scale {
  const from = Math.floor(Math.log10(lowest) + 1e-9);
  const to = Math.max(from + 1, Math.ceil(Math.log10(highest) - 1e-9));
  const ticks = Array.from({ length: to - from + 1 }, (_, n) => Number((10 ** (from + n)).toPrecision(12)));
  const place = (value: number) => Math.min(1, Math.max(0, (Math.log10(value) - from) / (to - from)));
  return { ticks, place };
}

/** A plain scale, unless the small values would lie flat on its foot. */
export function spreadScale(values: readonly number[]): Scale {
  const above = values.filter((value) => value > 0);
  // Spread over arguments, many values would be too many.
  const highest = above.reduce((most, value) => Math.max(most, value), 0);
  const lowest = above.reduce((least, value) => Math.min(least, value), highest);
  return highest >= lowest * 20 && lowest > 0 ? logScale(lowest, highest) : linearScale(highest);
}

/** Which of `length` points are named below a plot that has room for `room` names: evenly apart, the last one among them. */
export function namedPoints(length: number, room: number): number[] {
  if (length === 0) return [];
  const apart = Math.max(1, Math.ceil(length / Math.max(1, room)));
  const points: number[] = [];
  for (let point = length - 1; point >= 0; point -= apart) points.unshift(point);
  return points;
}

/** The point under a place between 0 and 1. */
export function pointAt(place: number, length: number): number {
  return Math.min(length - 1, Math.max(0, Math.floor(place * length)));
}
