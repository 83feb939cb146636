import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, withClients } from './load.ts';

export type SteadyLoad = { port: number; next: () => string; connections: number; seconds: number; perSecond: number };

/**
 * Sends requests at a steady rate, without waiting for earlier responses, and returns the milliseconds that each took. A
 * request waits if no connection is free, and that wait counts.
 */
export function sendAtRate({ port, next, connections, seconds, perSecond }: SteadyLoad): Promise<number[]> {
  return withClients(port, connections, async (clients) => {
    const free = [...clients];
    const waiters: ((client: Client) => void)[] = [];
    const millis: number[] = [];
    const pending: Promise<void>[] = [];

    const send = async (request: string) => {
      const start = performance.now();
      const client = free.pop() ?? (await new Promise<Client>((resolve) => waiters.push(resolve)));
      const { status } = await client.request(request);
      millis.push(performance.now() - start);
      if (status !== 200) throw new Error(`status ${status}, not 200`);
      const waiter = waiters.shift();
      if (waiter === undefined) free.push(client);
      else waiter(client);
    };

    const start = performance.now();
    for (let sent = 0; performance.now() < start + seconds * 1000; await sleep(1)) {
      const due = ((performance.now() - start) / 1000) * perSecond;
      for (; sent < due; sent += 1) pending.push(send(next()));
    }
    await Promise.all(pending);
    return millis;
  });
}
