import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { loadCount } from '../../bench/load.ts';
import { newFolder, newScope, run, sendRequest, serve } from '../test/support/cli-helpers.ts';
import { chunkPath, type Engine, makeTwoTenants, message, ndjson, newDatabaseUrl } from '../test/support/harness.ts';
import { count, type Experiment, type Finding, type Say } from './support/experiment.ts';
import type { Flood, Flooded } from './support/overload-client.ts';

const connections = 4_000;
const calmConnections = 32;
const conversations = 400;
const answerUnits = 3_000;
/** What those let in may take at the 99th percentile. */
const p99MillisMax = 1_000;
const recoveryMillisMax = 2_000;
const memoryMebibytesMax = 512;

export type OverloadOptions = { engine: Engine; seconds: number; times: number };

/** Much more of one kind of request than the service can answer, for a while. */
export async function floodService({ engine, seconds, times }: OverloadOptions, say: Say): Promise<Finding[]> {
  const scope = newScope();
  try {
    const cwd = await newFolder(scope);
    const { url, remove } = await newDatabaseUrl(engine);
    scope.after(remove);
    const env = { DATABASE_URL: url };
    const { records, one } = makeTwoTenants();
    const talks = Array.from({ length: conversations }, () => crypto.randomUUID());
    const chunks = Array.from({ length: 500 }, () => crypto.randomUUID());
    const lines = [
      ...talks.map((id) => ({ record: 'conversation', id, app_id: one.ids.app })),
      ...talks.flatMap((id) =>
        Array.from({ length: 21 }, (_, n) => message(id, n, { answer: 'x'.repeat(answerUnits) })),
      ),
      ...chunks.map((id, position) => ({
        ...{ record: 'child_chunk', id, segment_id: one.ids.segment },
        ...{ content: 'text', position },
      })),
    ];
    const { code, stderr } = await run(['import', '-'], { cwd, env, stdin: ndjson([...records, ...lines]) });
    if (code !== 0) throw new Error(stderr);
    const serving = await serve(scope, { cwd, env });
    const port = Number(new URL(serving.base).port);
    const kinds: Record<string, string[]> = {
      pages: talks.map((id) => get(`/v1/messages?conversation_id=${id}`, one.keys.app)),
      // A text that stands already would not be written: two rounds of texts over all chunks take turns.
      edits: [1, 2].flatMap((round) =>
        chunks.map((chunk) => patch(chunkPath({ ...one.ids, chunk }), one.keys.knowledge, `text ${round}`)),
      ),
    };
    const findings: Finding[] = [];
    for (const [kind, requests] of Object.entries(kinds)) {
      const bears = await measureCalm(port, requests);
      say(`${engine}: ${kind}: bears ${count(bears)} a second`);
      const before = memoryOf(serving.pid);
      const flood = startFlood({ port, requests, connections, seconds, perSecond: bears * times });
      const peak = await peakOf(serving.pid, flood);
      const flooded = await flood;
      const recovered = await recoveryMillis(serving.base, one);
      findings.push(...judge(`${engine}, ${kind}`, { flooded, seconds, bears, times, peak, before, recovered }));
      await sleep(1_000);
    }
    return findings;
  } finally {
    await scope.end();
  }
}

type Seen = {
  flooded: Flooded;
  seconds: number;
  bears: number;
  times: number;
  peak: number;
  before: number;
  recovered: number;
};

function judge(what: string, seen: Seen): Finding[] {
  const { answered, refused, withoutRetryAfter, others, unsent } = seen.flooded;
  const perSecond = Math.round(answered.length / seen.seconds);
  const p99 = percentile(answered, 0.99);
  const sent = answered.length + refused.length + others.length;
  return [
    {
      promise: `${what}: ${seen.times} times the load: every request is answered, or refused with 503 and Retry-After`,
      measured: `${count(sent)} sent in ${seen.seconds} s (${count(unsent)} more found no connection), ${count(answered.length)} answered, ${count(refused.length)} refused, ${count(others.length + withoutRetryAfter)} other${others.length > 0 ? ` (${others[0]})` : ''}`,
      holds: others.length === 0 && withoutRetryAfter === 0 && answered.length > 0,
    },
    {
      promise: `${what}: those let in are answered within ${count(p99MillisMax)} ms (p99)`,
      measured: `p50 ${percentile(answered, 0.5).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms at ${count(perSecond)} a second (bears ${count(seen.bears)}); refusals p99 ${percentile(refused, 0.99).toFixed(0)} ms`,
      holds: p99 <= p99MillisMax,
    },
    {
      promise: `${what}: it is itself again within 2 s`,
      measured: `${seen.recovered.toFixed(0)} ms`,
      holds: seen.recovered <= recoveryMillisMax,
    },
    {
      promise: `${what}: memory of its own stays under ${memoryMebibytesMax} MiB`,
      measured: `${seen.before} MiB before, ${seen.peak} MiB at the peak`,
      holds: seen.peak <= memoryMebibytesMax,
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

/** Answers a second where each of a few connections waits for its answer before it asks again. */
async function measureCalm(port: number, requests: readonly string[]): Promise<number> {
  let at = 0;
  const next = () => requests[(at += 1) % requests.length] ?? '';
  await loadCount(port, next, calmConnections, 2_000);
  const began = performance.now();
  await loadCount(port, next, calmConnections, 10_000);
  return Math.round(10_000 / ((performance.now() - began) / 1000));
}

function startFlood(workerData: Flood): Promise<Flooded> {
  const worker = new Worker(new URL('./support/overload-client.ts', import.meta.url), { workerData });
  return new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
}

/** Mebibytes that are its own, without what it has mapped of the database. */
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

/** Until a page and an edit are answered with 200 three times over, each within 100 ms. */
async function recoveryMillis(base: string, one: ReturnType<typeof makeTwoTenants>['one']): Promise<number> {
  const began = performance.now();
  const page = `/v1/messages?conversation_id=${one.ids.conversation}`;
  for (let good = 0; good < 3; ) {
    const from = performance.now();
    const read = await sendRequest(base, page, one.keys.app);
    const content = `after ${from}`;
    const edit = await sendRequest(base, one.chunkPath, one.keys.knowledge, { method: 'PATCH', json: { content } });
    const isGood = read.status === 200 && edit.status === 200 && performance.now() - from < 200;
    good = isGood ? good + 1 : 0;
  }
  return performance.now() - began;
}

export const overload: Experiment = {
  name: 'overload',
  long: async (say) => [
    ...(await floodService({ engine: 'sqlite', seconds: 10, times: 4 }, say)),
    ...(await floodService({ engine: 'postgres', seconds: 10, times: 4 }, say)),
  ],
};
