/** Maps values to places on a plot, with a few round ticks. */
export type Scale = {
  ticks: readonly number[] /** 0 at the bottom, 1 at the top. */;
  place: (value: number) => number;
};

/** From 0 to a round number above the highest value, in about four steps. With `isWhole`, steps are integers. */
export function linearScale(highest: number, isWhole = false): Scale {
  const step = Math.max(roundStep((highest > 0 ? highest : 1) / 4), isWhole ? 1 : 0);
  const steps = Math.max(1, Math.ceil(highest / step - 1e-9));
  const top = steps * step;
  const ticks = Array.from({ length: steps + 1 }, (_, n) => Number((n * step).toPrecision(12)));
  return { ticks, place: (value) => value / top };
}

/** The smallest of 1, 2, 5 and 10 times a power of ten that is at least `least`. */
export function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const times = [1, 2, 5, 10].find((times) => times * power >= least * (1 - 1e-9)) ?? 10;
  return Number((times * power).toPrecision(12));
}

/** Powers of ten around the values, for values that differ too much for a linear scale. */
export function logScale(lowest: number, highest: number): Scale {
  const from = Math.floor(Math.log10(lowest) + 1e-9);
  const to = Math.max(from + 1, Math.ceil(Math.log10(highest) - 1e-9));
  const ticks = Array.from({ length: to - from + 1 }, (_, n) => Number((10 ** (from + n)).toPrecision(12)));
  const place = (value: number) => Math.min(1, Math.max(0, (Math.log10(value) - from) / (to - from)));
  return { ticks, place };
}

/** A linear scale, unless the small values would not be visible on it. */
export function spreadScale(values: readonly number[]): Scale {
  const above = values.filter((value) => value > 0);
  // Not Math.max(...values): there may be too many for arguments.
  const highest = above.reduce((most, value) => Math.max(most, value), 0);
  const lowest = above.reduce((least, value) => Math.min(least, value), highest);
  return highest >= lowest * 20 && lowest > 0 ? logScale(lowest, highest) : linearScale(highest);
}

const minute = 60;
const day = 86_400;
/** Distances between labels below a plot, in seconds. */
const timeSteps = [
  ...[1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720].map((n) => n * minute),
  ...[1, 2, 7, 14, 28, 91].map((n) => n * day),
];

/** Which points, given by their times in seconds, have a label if there is room for `room` labels: those at round times. */
export function labelledPoints(times: readonly number[], room: number): number[] {
  const atStep = (step: number) => [...times.keys()].filter((point) => (times[point] ?? 0) % step === 0);
  const candidates = timeSteps.map(atStep);
  return candidates.find((points) => points.length <= Math.max(1, room)) ?? candidates.at(-1) ?? [];
}

/** The point at a place between 0 and 1. */
export function pointAt(place: number, length: number): number {
  return Math.min(length - 1, Math.max(0, Math.floor(place * length)));
}
