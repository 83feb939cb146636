/** A place that the finder leads to. */
export type Place = { text: string; href: string };

const shownMax = 5;
/** The newest first. They name users and texts, so they are only in memory. */
let visited: readonly Place[] = [];

export function notePlace(place: Place): void {
  // The finder has the views themselves.
  if (/^#\/\w*$/.test(place.href)) return;
  visited = [place, ...visited.filter(({ href }) => href !== place.href)].slice(0, shownMax + 1);
}

/** Those before the one that is shown. */
export const recentPlaces = (): readonly Place[] => visited.filter(({ href }) => href !== location.hash);
