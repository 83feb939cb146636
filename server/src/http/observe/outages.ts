/** Time between two log lines about the same outage. */
const quietMillis = 60_000;
const outagesMax = 100;

/** During an outage all requests fail with the same error. It is logged when it begins and then once a minute. */
export class Outages {
  readonly #logged = new Map<string, { at: number; unlogged: number }>();

  /** Counts a failure. Returns the number of failures since the last log line, or undefined if this one must not be logged. */
  count(outage: string, now: number): number | undefined {
    const last = this.#logged.get(outage);
    if (last !== undefined && now - last.at < quietMillis) {
      last.unlogged += 1;
      return undefined;
    }
    if (this.#logged.size >= outagesMax) this.#logged.clear();
    this.#logged.set(outage, { at: now, unlogged: 0 });
    return last?.unlogged ?? 0;
  }
}
