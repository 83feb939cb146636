import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { Watched } from './watch.ts';

const { base, pid }: { base: string; pid: number } = workerData;
let isOver = false;
parentPort?.once('message', () => {
  isOver = true;
});

let [healthMillis, peakMebibytes] = [0, 0];
const statuses = new Set<number>();
for (; !isOver; await sleep(20)) {
  const sentAt = performance.now();
  statuses.add((await fetch(`${base}/health/ready`)).status);
  healthMillis = Math.max(healthMillis, performance.now() - sentAt);
  const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  peakMebibytes = Math.max(peakMebibytes, Number(kilobytes) / 1024);
}
parentPort?.postMessage({ healthMillis, peakMebibytes, statuses } satisfies Watched);
