/** Between two lines about the same outage. */
const quietMillis = 60_000;
const outagesMax = 100;

/** An outage fails all requests alike. It is told when it begins and once a minute while it lasts, not every time. */
export class Outages {
  readonly #told = new Map<string, { at: number; since: number }>();

  /** How many were kept quiet since it was told last; undefined where this one is to be kept quiet as well. */
  tell(outage: string, now: number): number | undefined {
    const told = this.#told.get(outage);
    if (told !== undefined && now - told.at < quietMillis) {
      told.since += 1;
      return undefined;
    }
    if (this.#told.size >= outagesMax) this.#told.clear();
    this.#told.set(outage, { at: now, since: 0 });
    return told?.since ?? 0;
  }
}
