import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { loadCount } from '../bench/support/load.ts';
import { inScope, newFolder, sendRequest, serveWithWorkers } from '../server/test/support/cli-helpers.ts';
import { chunkPath, type Engine, makeTwoTenants, message, newDatabaseUrl } from '../server/test/support/harness.ts';
import { count, type Experiment, type Finding, importRecords, type Log, onEachEngine } from './support/experiment.ts';
import type { FloodOptions, FloodResult } from './support/overload-client.ts';

const connections = 4_000;
const baselineConnections = 32;
const conversations = 400;
const answerLength = 3_000;
/** The limit for accepted requests at the 99th percentile. */
const p99MillisMax = 1_000;
const recoveryMillisMax = 2_000;
/**
 * Two workers with full caches, 190 MB and 64 MiB of pages (docs/run/service.md, Workers), 64 MiB of database pages that the writer
 * of the embedded engine caches, and 4,000 connections, which were measured to take up to 34 KiB each. The rest is room for requests
 * in the queue.
 */
const memoryMebibytesMax = 576;

export type OverloadOptions = { engine: Engine; seconds: number; times: number };

/** Sends many more requests of one kind than the service can handle, for a number of seconds. */
export const floodService = ({ engine, seconds, times }: OverloadOptions, log: Log): Promise<Finding[]> =>
  inScope(async (scope) => {
    const cwd = await newFolder(scope);
    const { url, remove } = await newDatabaseUrl(engine);
    scope.after(remove);
    const env = { DATABASE_URL: url };
    const { records, one } = makeTwoTenants();
    const conversationIds = Array.from({ length: conversations }, () => crypto.randomUUID());
    const chunks = Array.from({ length: 500 }, () => crypto.randomUUID());
    const lines = [
      ...conversationIds.map((id) => ({ record: 'conversation', id, app_id: one.ids.app })),
      ...conversationIds.flatMap((id) =>
        Array.from({ length: 21 }, (_, n) => message(id, n, { answer: 'x'.repeat(answerLength) })),
      ),
      ...chunks.map((id, position) => ({
        ...{ record: 'child_chunk', id, segment_id: one.ids.segment },
        ...{ content: 'text', position },
      })),
    ];
    await importRecords([...records, ...lines], { cwd, env });
    const serving = await serveWithWorkers(scope, { cwd, env });
    const port = Number(new URL(serving.base).port);
    const kinds: Record<string, string[]> = {
      pages: conversationIds.map((id) => get(`/v1/messages?conversation_id=${id}`, one.keys.app)),
      // An unchanged text would not be written, so two different texts alternate for every chunk.
      edits: [1, 2].flatMap((round) =>
        chunks.map((chunk) => patch(chunkPath({ ...one.ids, chunk }), one.keys.knowledge, `text ${round}`)),
      ),
    };
    const findings: Finding[] = [];
    for (const [kind, requests] of Object.entries(kinds)) {
      const capacity = await measureCapacity(port, requests);
      log(`${engine}: ${kind}: capacity ${count(capacity)} requests per second`);
      const before = memoryOf(serving.pid);
      const flood = startFlood({ port, requests, connections, seconds, perSecond: capacity * times });
      const peak = await peakOf(serving.pid, flood);
      const result = await flood;
      const recoveredAfter = await recoveryMillis(serving.base, one);
      const measured = { result, seconds, capacity, times, peak, before, recoveredAfter };
      findings.push(...findingsOf(`${engine}, ${kind}`, measured));
      await sleep(1_000);
    }
    return findings;
  });

type Measured = {
  result: FloodResult;
  seconds: number;
  capacity: number;
  times: number;
  peak: number;
  before: number;
  recoveredAfter: number;
};

function findingsOf(what: string, measured: Measured): Finding[] {
  const { seconds, capacity, times, peak, before, recoveredAfter } = measured;
  const { served, rejected, withoutRetryAfter, others, unsent } = measured.result;
  const perSecond = Math.round(served.length / seconds);
  const p99 = percentile(served, 0.99);
  const sent = served.length + rejected.length + others.length;
  return [
    {
      promise: `${what}: ${times} times the load: every request is served, or rejected with 503 and Retry-After`,
      measured: `${count(sent)} sent in ${seconds} s (${count(unsent)} more found no free connection), ${count(served.length)} served, ${count(rejected.length)} rejected, ${count(others.length + withoutRetryAfter)} other${others.length > 0 ? ` (${others[0]})` : ''}`,
      holds: others.length === 0 && withoutRetryAfter === 0 && served.length > 0,
    },
    {
      promise: `${what}: accepted requests complete within ${count(p99MillisMax)} ms (p99)`,
      measured: `p50 ${percentile(served, 0.5).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms at ${count(perSecond)} per second (capacity ${count(capacity)}); rejections p99 ${percentile(rejected, 0.99).toFixed(0)} ms`,
      holds: p99 <= p99MillisMax,
    },
    {
      promise: `${what}: the service recovers within 2 s`,
      measured: `${recoveredAfter.toFixed(0)} ms`,
      holds: recoveredAfter <= recoveryMillisMax,
    },
    {
      promise: `${what}: private memory stays under ${memoryMebibytesMax} MiB`,
      measured: `${before} MiB before, ${peak} MiB at the peak`,
      holds: peak <= memoryMebibytesMax,
    },
  ];
}

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length * share)] ?? 0;

const get = (path: string, key: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: torture\r\nAuthorization: Bearer ${key}\r\n\r\n`;

function patch(path: string, key: string, content: string): string {
  const body = JSON.stringify({ content });
  const head = `PATCH ${path} HTTP/1.1\r\nHost: torture\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
  return `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
}

/** Responses per second on a few connections, each of which waits for a response before its next request. */
async function measureCapacity(port: number, requests: readonly string[]): Promise<number> {
  let at = 0;
  const next = () => requests[(at += 1) % requests.length] ?? '';
  await loadCount(port, next, baselineConnections, 2_000);
  const startedAt = performance.now();
  await loadCount(port, next, baselineConnections, 10_000);
  return Math.round(10_000 / ((performance.now() - startedAt) / 1000));
}

function startFlood(workerData: FloodOptions): Promise<FloodResult> {
  const worker = new Worker(new URL('./support/overload-client.ts', import.meta.url), { workerData });
  return new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
}

/** Private memory in MiB: without the mapped database file. */
function memoryOf(pid: number): number {
  const kibibytes = /^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round(Number(kibibytes) / 1024);
}

async function peakOf(pid: number, until: Promise<unknown>): Promise<number> {
  let peak = 0;
  let isOver = false;
  void until.finally(() => {
    isOver = true;
  });
  for (; !isOver; await sleep(50)) peak = Math.max(peak, memoryOf(pid));
  return peak;
}

/** Milliseconds until a page and an edit together succeed within 200 ms, three times in a row. */
async function recoveryMillis(base: string, one: ReturnType<typeof makeTwoTenants>['one']): Promise<number> {
  const startedAt = performance.now();
  const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
  for (let inARow = 0; inARow < 3; ) {
    const sentAt = performance.now();
    const read = await sendRequest(base, page, one.keys.app);
    const content = `after ${sentAt}`;
    const edit = await sendRequest(base, one.chunkPath, one.keys.knowledge, { method: 'PATCH', json: { content } });
    const isGood = read.status === 200 && edit.status === 200 && performance.now() - sentAt < 200;
    inARow = isGood ? inARow + 1 : 0;
  }
  return performance.now() - startedAt;
}

export const overload: Experiment = {
  name: 'overload',
  long: onEachEngine((engine, log) => floodService({ engine, seconds: 10, times: 4 }, log)),
};
