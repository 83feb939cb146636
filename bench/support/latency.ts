import type { Client } from './load.ts';
import { median } from './pairs.ts';

/** The median of the microseconds from a request to the end of its response, one request at a time. */
export async function latencyOf(client: Client, requests: readonly string[]): Promise<number> {
  const micros: number[] = [];
  for (const request of requests) {
    const start = performance.now();
    const { status } = await client.request(request);
    micros.push((performance.now() - start) * 1000);
    if (status !== 200) throw new Error(`status ${status}, not 200`);
  }
  return median(micros);
}
