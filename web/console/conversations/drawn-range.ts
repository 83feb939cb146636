import type { Row } from './transcript-history.ts';

/** Pixels drawn above and below the window, and how few of them may be left before more is drawn. */
const aheadPixelsMax = 1_600;
const aheadPixelsMin = 900;

/** Rows from one index to another, which is not included. */
type Range = { from: number; to: number };
/** What the user sees, in pixels from the top of the first row. */
type Window = { top: number; bottom: number };

export const heightOf = (rows: readonly Row[]): number => rows.reduce((sum, { height }) => sum + height, 0);

/** The rows to draw, at least one of them: those that are drawn, as long as they reach far enough beyond the window. */
export function drawnRange(rows: readonly Row[], drawn: Range, window: Window): Range {
  const least = rangeAround(rows, window, aheadPixelsMin);
  return drawn.from <= least.from && least.to <= drawn.to ? drawn : rangeAround(rows, window, aheadPixelsMax);
}

function rangeAround(rows: readonly Row[], { top, bottom }: Window, ahead: number): Range {
  let y = 0;
  const ends = rows.map(({ height }) => (y += height));
  const indexAt = (edge: number) => {
    const at = ends.findIndex((end) => end >= edge);
    return at < 0 ? rows.length - 1 : at;
  };
  return { from: Math.max(indexAt(top - ahead), 0), to: indexAt(bottom + ahead) + 1 };
}
