import type { Client } from './load.ts';
import { median } from './pairs.ts';

/** Microseconds from a request to the end of its answer, one at a time: the median. */
export async function latencyOf(client: Client, requests: readonly string[]): Promise<number> {
  const micros: number[] = [];
  for (const request of requests) {
    const start = performance.now();
    const { status } = await client.ask(request);
    micros.push((performance.now() - start) * 1000);
    if (status !== 200) throw new Error(`answered ${status}, not 200`);
  }
  return median(micros);
}
