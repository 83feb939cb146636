import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { type Client, type LoadResponse, withClients } from '../../bench/support/load.ts';

/** A worker thread that sends requests at a steady rate, without waiting for earlier responses. */

export type FloodOptions = {
  port: number;
  requests: readonly string[];
  connections: number;
  seconds: number;
  perSecond: number;
};

/** Milliseconds from sending a request to the end of its response, grouped by status. */
export type FloodResult = {
  served: number[];
  rejected: number[];
  withoutRetryAfter: number;
  others: string[];
  unsent: number;
};

const { port, requests, connections, seconds, perSecond } = workerData as FloodOptions;
const result: FloodResult = { served: [], rejected: [], withoutRetryAfter: 0, others: [], unsent: 0 };

await withClients(port, connections, async (clients) => {
  const free = [...clients];
  const pending: Promise<void>[] = [];
  const send = async (client: Client, request: string) => {
    const sentAt = performance.now();
    try {
      count(await client.request(request), performance.now() - sentAt);
      free.push(client);
    } catch (error) {
      result.others.push(String(error));
    }
  };
  const start = performance.now();
  let sent = 0;
  for (let now = start; now < start + seconds * 1000; now = performance.now()) {
    for (; sent < ((now - start) / 1000) * perSecond; sent += 1) {
      const client = free.pop();
      if (client === undefined) result.unsent += 1;
      else pending.push(send(client, requests[sent % requests.length] ?? ''));
    }
    await sleep(1);
  }
  await Promise.all(pending);
});
parentPort?.postMessage(result);

function count({ status, head }: LoadResponse, millis: number): void {
  if (status === 200) result.served.push(millis);
  else if (status === 503) {
    result.rejected.push(millis);
    if (!/\r\nretry-after: \d+/i.test(head)) result.withoutRetryAfter += 1;
  } else result.others.push(String(status));
}
