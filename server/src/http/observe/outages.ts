/** Between two log lines about the same outage. */
const quietMillis = 60_000;
const outagesMax = 100;

/** An outage fails all requests in the same way. It is logged when it begins and then once a minute, not every time. */
export class Outages {
  readonly #logged = new Map<string, { at: number; since: number }>();

  /** Counts a failure. Returns how many were not logged since the last log line, or undefined if this one must not be logged. */
  count(outage: string, now: number): number | undefined {
    const last = this.#logged.get(outage);
    if (last !== undefined && now - last.at < quietMillis) {
      last.since += 1;
      return undefined;
    }
    if (this.#logged.size >= outagesMax) this.#logged.clear();
    this.#logged.set(outage, { at: now, since: 0 });
    return last?.since ?? 0;
  }
}
