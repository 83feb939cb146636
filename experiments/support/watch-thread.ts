import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { Watched } from './watch.ts';

const { base, pid, path }: { base: string; pid: number; path: string } = workerData;
const pauseMillis = 20;
let [isStarted, isOver] = [false, false];
parentPort?.once('message', () => {
  isOver = true;
});

let peakMebibytes = 0;
function noteMemory(): void {
  const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  peakMebibytes = Math.max(peakMebibytes, Number(kilobytes) / 1024);
}

/** Time in which not even a timer of this idle thread ran: a virtual machine that does not get its processors. */
let stalledMillis = 0;
let last = performance.now();
const stalls = setInterval(() => {
  const now = performance.now();
  stalledMillis += Math.max(0, now - last - 2 * pauseMillis);
  last = now;
  noteMemory();
}, pauseMillis);

/** The processor time of each thread of the service, in milliseconds. Linux only. */
function threadMillis(): Map<string, number> {
  const threads = readdirSync(`/proc/${pid}/task`).flatMap((thread): [string, number][] => {
    try {
      const [nanos] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
      return [[thread, Number(nanos) / 1e6]];
    } catch {
      // It has ended.
      return [];
    }
  });
  return new Map(threads);
}

/** As monitoring does, each on its own connection. */
async function check(): Promise<number> {
  const request = http.get(`${base}${path}`, { agent: false });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  for await (const _ of response);
  return response.statusCode ?? 0;
}

let [healthMillis, heldMillis] = [0, 0];
const statuses = new Set<number>();
while (!isOver) {
  const [sentAt, stalledBefore, before] = [performance.now(), stalledMillis, threadMillis()];
  statuses.add(await check().catch(() => 0));
  if (!isStarted) parentPort?.postMessage('started');
  isStarted = true;
  const millis = performance.now() - sentAt;
  for (const [thread, spent] of threadMillis()) heldMillis = Math.max(heldMillis, spent - (before.get(thread) ?? 0));
  await sleep(pauseMillis);
  healthMillis = Math.max(healthMillis, millis - (stalledMillis - stalledBefore));
}
noteMemory();
clearInterval(stalls);
parentPort?.postMessage({ healthMillis, heldMillis, stalledMillis, peakMebibytes, statuses } satisfies Watched);
