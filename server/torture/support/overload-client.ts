import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { type Answer, type Client, withClients } from '../../../bench/load.ts';

/** A thread of its own that sends requests at a steady rate, whether earlier ones are answered or not. */

export type Flood = {
  port: number;
  requests: readonly string[];
  connections: number;
  seconds: number;
  perSecond: number;
};

/** Milliseconds from sending a request to the end of its answer, by what it was answered with. */
export type Flooded = {
  answered: number[];
  refused: number[];
  withoutRetryAfter: number;
  others: string[];
  unsent: number;
};

const { port, requests, connections, seconds, perSecond } = workerData as Flood;
const flooded: Flooded = { answered: [], refused: [], withoutRetryAfter: 0, others: [], unsent: 0 };

await withClients(port, connections, async (clients) => {
  const free = [...clients];
  const asked: Promise<void>[] = [];
  const ask = async (client: Client, request: string) => {
    const began = performance.now();
    try {
      take(await client.ask(request), performance.now() - began);
      free.push(client);
    } catch (error) {
      flooded.others.push(String(error));
    }
  };
  const start = performance.now();
  let sent = 0;
  for (let now = start; now < start + seconds * 1000; now = performance.now()) {
    for (; sent < ((now - start) / 1000) * perSecond; sent += 1) {
      const client = free.pop();
      if (client === undefined) flooded.unsent += 1;
      else asked.push(ask(client, requests[sent % requests.length] ?? ''));
    }
    await sleep(1);
  }
  await Promise.all(asked);
});
parentPort?.postMessage(flooded);

function take({ status, head }: Answer, millis: number): void {
  if (status === 200) flooded.answered.push(millis);
  else if (status === 503) {
    flooded.refused.push(millis);
    if (!/\r\nretry-after: \d+/i.test(head)) flooded.withoutRetryAfter += 1;
  } else flooded.others.push(String(status));
}
