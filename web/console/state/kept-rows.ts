/* Back shows a list as it was left: its rows and its place belong to the entry of the browser's history. */

const listsMax = 50;
const restoreMillis = 2_000;

const kept = new Map<string, unknown>();
const places = new Map<string, number>();

/** The entry that is shown. The state of an entry that a link has made is empty at first. */
function shownEntry(): string {
  const entry: string = history.state?.entry ?? `${Date.now()} ${Math.random()}`;
  if (history.state?.entry === undefined) history.replaceState({ entry }, '');
  return entry;
}

export const keptRows = <T>(path: string | undefined): T | undefined => kept.get(`${shownEntry()} ${path}`) as T;

export function keepRows(path: string, rows: unknown): void {
  const key = `${shownEntry()} ${path}`;
  kept.delete(key);
  kept.set(key, rows);
  const [oldest] = kept.keys();
  if (kept.size > listsMax && oldest !== undefined) kept.delete(oldest);
}

/** After a write, lists are read again. */
export const forgetRows = (): void => kept.clear();

let restoring: number | undefined;

addEventListener('scroll', () => restoring ?? places.set(shownEntry(), scrollY), { passive: true });
addEventListener('hashchange', () => {
  stopRestoring();
  const place = places.get(shownEntry());
  if (place !== undefined) restore(place, performance.now() + restoreMillis);
});
/** The user has moved on: nothing moves the page any more. */
for (const name of ['wheel', 'keydown', 'pointerdown']) addEventListener(name, stopRestoring);

function stopRestoring(): void {
  if (restoring !== undefined) cancelAnimationFrame(restoring);
  restoring = undefined;
}

/** Until the rows are drawn, the page is too short. */
function restore(place: number, until: number): void {
  scrollTo(0, place);
  const isThere = Math.abs(scrollY - place) <= 1 || performance.now() > until;
  restoring = isThere ? undefined : requestAnimationFrame(() => restore(place, until));
}
