import { inScope, serveWithWorkers } from '../../server/test/support/cli-helpers.ts';
import { type Engine, makeTwoTenants } from '../../server/test/support/harness.ts';
import { until } from '../../server/test/support/until.ts';
import {
  count,
  type Experiment,
  type Finding,
  importFile,
  type Log,
  onEachEngine,
  some,
} from '../support/experiment.ts';
import { judgeService, watchService } from '../support/watch.ts';
import { writeRecords } from './pages.ts';

const memoryMebibytesMax = 900;
const responseMillisMax = 15_000;
const leavingAtOnce = 20;
const leaveMillis = 200;

export type LargeRecordsOptions = {
  engine: Engine;
  messages: number;
  messageBytes: number;
  readers: number;
  leaving: number;
};

/** Many clients read the change feed and search for phrases in large messages; most of them leave at once. */
export async function readLargeRecords(options: LargeRecordsOptions, log: Log): Promise<Finding[]> {
  const { engine, messages, messageBytes, readers, leaving } = options;
  return inScope(async (scope) => {
    const { records, one, admin } = makeTwoTenants();
    const write = (file: string) => writeRecords(file, records, one.ids.conversation, messages, messageBytes);
    const { cwd, env } = await importFile(scope, engine, write);
    const { base, pid } = await serveWithWorkers(scope, { cwd, env });
    const headers = { authorization: `Bearer ${admin}` };
    const fetchJson = async (path: string) => (await fetch(`${base}${path}`, { headers })).json();
    await until(async () => {
      const { all, is_building } = await fetchJson('/admin/search/counts?q=needle');
      return all === messages && is_building === false;
    });

    const watch = watchService(base, pid);
    const paths = [
      ...Array.from({ length: readers }, () => '/admin/changes?limit=1000&kinds=message'),
      ...Array.from({ length: readers / 5 }, () => '/admin/search/counts?q="needle of text"'),
      ...Array.from({ length: readers / 5 }, () => '/admin/search?q="needle of text"&limit=100'),
    ];
    // In lanes: a burst would be rejected as an overload, and would keep this process from measuring.
    const leave = Array.from({ length: leavingAtOnce }, async (_, lane) => {
      for (let at = lane; at < leaving; at += leavingAtOnce) {
        const signal = AbortSignal.timeout(leaveMillis);
        await fetch(`${base}${paths[at % paths.length]}`, { headers, signal }).catch(() => undefined);
      }
    });
    const reads = await Promise.all(paths.map((path) => read(`${base}${path}`, headers)));
    await Promise.all(leave);
    const watched = await watch.end();
    log(
      `${engine}: ${count(reads.filter(({ status }) => status === 200).length)} of ${reads.length} responses are 200`,
    );
    const slowest = Math.max(...reads.map(({ millis }) => millis));
    const others = reads.filter(({ status }) => status !== 200 && status !== 503);
    return [
      {
        promise: `${engine}: feed and search of large messages: 200 or 503 within ${count(responseMillisMax)} ms`,
        measured:
          `${count(reads.length)} requests beside ${count(leaving)} whose clients leave: slowest ${count(Math.round(slowest))} ms, ` +
          `${others.length} others${some(others.map(({ status }) => `${status}`))}`,
        holds: reads.some(({ status }) => status === 200) && others.length === 0 && slowest <= responseMillisMax,
      },
      ...judgeService(engine, watched, memoryMebibytesMax),
    ];
  });
}

async function read(target: string, headers: Record<string, string>): Promise<{ status: number; millis: number }> {
  const sentAt = performance.now();
  const response = await fetch(target, { headers });
  await response.arrayBuffer();
  return { status: response.status, millis: performance.now() - sentAt };
}

export const largeRecords: Experiment = {
  name: 'large-records',
  long: onEachEngine((engine, log) =>
    readLargeRecords({ engine, messages: 100, messageBytes: 4_190_000, readers: 20, leaving: 520 }, log),
  ),
};
