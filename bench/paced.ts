import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, withClients } from './load.ts';

export type Paced = { port: number; next: () => string; connections: number; seconds: number; perSecond: number };

/**
 * Sends requests at a steady rate, whether earlier ones are answered or not, and gives the milliseconds each took. One
 * that finds no free connection waits for one, and its waiting counts.
 */
export function paced({ port, next, connections, seconds, perSecond }: Paced): Promise<number[]> {
  return withClients(port, connections, async (clients) => {
    const free = [...clients];
    const waiting: ((client: Client) => void)[] = [];
    const millis: number[] = [];
    const asked: Promise<void>[] = [];

    const ask = async (request: string) => {
      const start = performance.now();
      const client = free.pop() ?? (await new Promise<Client>((resolve) => waiting.push(resolve)));
      const { status } = await client.ask(request);
      millis.push(performance.now() - start);
      if (status !== 200) throw new Error(`answered ${status}, not 200`);
      const next = waiting.shift();
      if (next === undefined) free.push(client);
      else next(client);
    };

    const start = performance.now();
    for (let sent = 0; performance.now() < start + seconds * 1000; await sleep(1)) {
      const due = ((performance.now() - start) / 1000) * perSecond;
      for (; sent < due; sent += 1) asked.push(ask(next()));
    }
    await Promise.all(asked);
    return millis;
  });
}
