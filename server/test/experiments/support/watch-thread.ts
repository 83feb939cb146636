import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { Watched } from './watch.ts';

const { base, pid }: { base: string; pid: number } = workerData;
const pauseMillis = 20;
let isOver = false;
parentPort?.once('message', () => {
  isOver = true;
});

/** Time in which not even a timer of this idle thread ran: a virtual machine that does not get its processors. */
let stalledMillis = 0;
let last = performance.now();
const stalls = setInterval(() => {
  const now = performance.now();
  stalledMillis += Math.max(0, now - last - 2 * pauseMillis);
  last = now;
}, pauseMillis);

let [healthMillis, peakMebibytes] = [0, 0];
const statuses = new Set<number>();
while (!isOver) {
  const [sentAt, stalledBefore] = [performance.now(), stalledMillis];
  statuses.add((await fetch(`${base}/health/ready`)).status);
  const millis = performance.now() - sentAt;
  await sleep(pauseMillis);
  healthMillis = Math.max(healthMillis, millis - (stalledMillis - stalledBefore));
  const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  peakMebibytes = Math.max(peakMebibytes, Number(kilobytes) / 1024);
}
clearInterval(stalls);
parentPort?.postMessage({ healthMillis, stalledMillis, peakMebibytes, statuses } satisfies Watched);
