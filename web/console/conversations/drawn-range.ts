import type { Row } from './transcript-history.ts';

/** Pixels drawn above and below the window, and how few of them may be left before more is drawn. */
const aheadPixelsMax = 1_600;
const aheadPixelsMin = 900;

/** Rows from one index to another, which is not included. */
type Range = { from: number; to: number };
/** What the user sees, in pixels from the top of the first row. */
type Window = { top: number; bottom: number };

export function heightOf(rows: readonly Row[], { from, to }: Range): number {
  let sum = 0;
  for (let i = from; i < to; i += 1) sum += (rows[i] as Row).height;
  return sum;
}

/** Whether the drawn rows reach far enough beyond the window. */
export function isEnough(rows: readonly Row[], { from, to }: Range, { top, bottom }: Window): boolean {
  if (to <= from || to > rows.length) return false;
  const drawnTop = heightOf(rows, { from: 0, to: from });
  const drawnBottom = drawnTop + heightOf(rows, { from, to });
  return (
    (from === 0 || drawnTop <= top - aheadPixelsMin) && (to === rows.length || drawnBottom >= bottom + aheadPixelsMin)
  );
}

/** The rows to draw, at least one of them. */
export function rangeAround(rows: readonly Row[], { top, bottom }: Window): Range {
  let y = 0;
  let from = 0;
  while (from < rows.length - 1 && y + (rows[from] as Row).height < top - aheadPixelsMax) {
    y += (rows[from] as Row).height;
    from += 1;
  }
  let to = from;
  while (to < rows.length && (y < bottom + aheadPixelsMax || to === from)) {
    y += (rows[to] as Row).height;
    to += 1;
  }
  return { from, to };
}
