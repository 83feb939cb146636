import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../server/src/contract/limits.ts';
import { inScope, serveWithWorkers } from '../../server/test/support/cli-helpers.ts';
import { type Engine, makeTwoTenants, message, ndjson } from '../../server/test/support/harness.ts';
import {
  count,
  type Experiment,
  type Finding,
  importFile,
  type Log,
  onEachEngine,
  some,
} from '../support/experiment.ts';
import { judgeService, type Watched, watchService } from '../support/watch.ts';

const mebibyte = 2 ** 20;
const memoryMebibytesMax = 512;
/** Twice the time after which a reader counts as slow, and some more. */
const disconnectMillisMax = 75_000;

export type LargePagesOptions = { engine: Engine; messages: number; messageBytes: number; readers: number };

type Read = { status: number; bytes: number; expected: number; retryAfter: string | undefined; error: string };

/** Many clients request a page of large messages; some leave, one stops reading. */
export async function readLargePages(options: LargePagesOptions, log: Log): Promise<Finding[]> {
  const { engine, messages, messageBytes, readers } = options;
  return inScope(async (scope) => {
    const { records, one } = makeTwoTenants();
    const write = (file: string) => writeRecords(file, records, one.ids.conversation, messages, messageBytes);
    const { cwd, env } = await importFile(scope, engine, write);
    const { base, pid, output } = await serveWithWorkers(scope, { cwd, env });
    const target = `${base}/v1/messages?conversation_id=${one.ids.conversation}&limit=100`;
    const headers = { authorization: `Bearer ${one.keys.app}` };

    const stalled = await open(target, headers);
    stalled.on('error', () => undefined);
    const watch = watchService(base, pid);
    const leaving = Array.from({ length: 5 }, async () => {
      const response = await open(target, headers);
      response.on('error', () => undefined).once('data', () => response.destroy());
    });
    const reads = await Promise.all(Array.from({ length: readers }, () => readPage(target, headers)));
    await Promise.all(leaving);
    const watched = await watch.end();
    log(`${engine}: ${count(reads.filter(({ status }) => status === 200).length)} of ${readers} pages`);

    const stalledSeconds = await disconnection(output);
    stalled.destroy();
    return judge(engine, { ...watched, reads, stalledSeconds });
  });
}

export async function writeRecords(
  file: string,
  records: readonly object[],
  conversation: string,
  messages: number,
  bytes: number,
): Promise<void> {
  const output = createWriteStream(file);
  output.write(ndjson(records));
  const answer = `needle of text ${'. '.repeat(bytes / 2)}`;
  for (let at = 0; at < messages; at += 1) {
    if (!output.write(ndjson([message(conversation, at, { answer })]))) await once(output, 'drain');
  }
  output.end();
  await once(output, 'close');
}

async function open(target: string, headers: http.OutgoingHttpHeaders): Promise<http.IncomingMessage> {
  const request = http.get(target, { headers, agent: false });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  return response;
}

async function readPage(target: string, headers: http.OutgoingHttpHeaders): Promise<Read> {
  const response = await open(target, headers);
  const expected = Number(response.headers['content-length']);
  const retryAfter = response.headers['retry-after'];
  let bytes = 0;
  let error = '';
  try {
    for await (const chunk of response) bytes += chunk.length;
  } catch (failure) {
    error = (failure as Error).message;
  }
  return { status: response.statusCode ?? 0, bytes, expected, retryAfter, error };
}

/** Time that the client that stops reading stayed connected, by the log; undefined if it still is. */
async function disconnection(output: () => string): Promise<number | undefined> {
  const deadline = performance.now() + disconnectMillisMax;
  for (; performance.now() < deadline; await sleep(200)) {
    for (const line of output().split('\n')) {
      if (!line.includes('"aborted":true')) continue;
      const { ms } = JSON.parse(line);
      if (ms >= limits.slowReaderMillis) return ms / 1000;
    }
  }
  return undefined;
}

type Results = Watched & { reads: readonly Read[]; stalledSeconds: number | undefined };

function judge(engine: Engine, results: Results): Finding[] {
  const { reads, stalledSeconds } = results;
  const whole = reads.filter(({ status, bytes, expected }) => status === 200 && bytes === expected);
  const rejected = reads.filter(({ status, retryAfter }) => status === 503 && retryAfter !== undefined);
  const others = reads.filter((read) => !whole.includes(read) && !rejected.includes(read));
  const pageMebibytes = (whole[0]?.expected ?? 0) / mebibyte;
  return [
    {
      promise: `${engine}: a client that reads gets the whole page, or 503 with Retry-After`,
      measured:
        `pages of ${pageMebibytes.toFixed(0)} MiB: ${whole.length} whole, ${rejected.length} rejected, ${others.length} others` +
        some(others.map(({ status, bytes, error }) => `${status} after ${count(bytes)} bytes ${error}`)),
      holds: whole.length > 0 && others.length === 0,
    },
    ...judgeService(engine, results, memoryMebibytesMax),
    {
      promise: `${engine}: a client that stops reading is disconnected`,
      measured: stalledSeconds === undefined ? 'still connected' : `after ${stalledSeconds.toFixed(0)} s`,
      holds: stalledSeconds !== undefined,
    },
  ];
}

export const largePages: Experiment = {
  name: 'large-pages',
  long: onEachEngine((engine, log) =>
    readLargePages({ engine, messages: 100, messageBytes: 4_190_000, readers: 20 }, log),
  ),
};
