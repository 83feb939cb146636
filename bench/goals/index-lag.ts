import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { adminSecret, appendRequest, buildIndex, chat, importLines } from '../support/data.ts';
import { compare, comparisonOf, median } from '../support/pairs.ts';
import type { Bench, Result } from '../support/result.ts';
import { type Server, startOurs } from '../support/servers.ts';
import { sendAtRate } from '../support/steady-load.ts';

const conversations = 200;
const connections = 64;
const workers = 2;
const lag = { perSecond: 1_000, seconds: 30, secondsMax: 10 };
const beside = { perSecond: 200, seconds: 4 };

/** Goals 32 and 37: the index keeps up with appended messages, and hardly slows them down. */
export async function measureIndexLag(bench: Bench): Promise<Result[]> {
  const { isSelected } = bench;
  const results: Result[] = [];
  const on = await startWith(bench, 'on');
  if (isSelected(32)) results.push(await measureLag(bench, on));
  if (isSelected(37)) results.push(await measureAppends(bench, on));
  await on.stop();
  return results;
}

async function startWith({ folder, log }: Bench, SEARCH: 'on' | 'off'): Promise<Server> {
  log(`importing for appends with SEARCH=${SEARCH}`);
  const database = `sqlite:${join(folder, `lag-${SEARCH}.db`)}`;
  await importLines(database, chat({ conversations, messages: 20, bytes: 1_000 }));
  await buildIndex(database);
  return startOurs(folder, database, { SEARCH, WORKERS: `${workers}` });
}

let count = Date.now();
const next = () => appendRequest(Math.floor(Math.random() * conversations), (count += 1));

async function measureLag({ log }: Bench, { port }: Server): Promise<Result> {
  const { perSecond, seconds, secondsMax } = lag;
  log(`appending ${perSecond} messages/s for ${seconds} s`);
  let isSending = true;
  const lags: number[] = [];
  const watching = (async () => {
    for (; isSending; await sleep(500)) lags.push(await lagOf(port));
  })();
  const millis = await sendAtRate({ port, next, connections, seconds, perSecond });
  isSending = false;
  await watching;
  return {
    ...comparisonOf([Math.max(...lags)], [secondsMax]),
    goal: 32,
    what: `largest lag of the index while ${connections} clients append ${perSecond} messages/s, ${workers} workers`,
    against: `${secondsMax} s`,
    unit: 's',
    target: { max: 1 },
    notes: { 'messages/s': (millis.length / seconds).toFixed(0), 'median of the lag, s': median(lags) },
  };
}

/** The age of the oldest change that the search does not find. */
async function lagOf(port: number): Promise<number> {
  const headers = { authorization: `Bearer ${adminSecret}` };
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`, { headers })).text();
  return Number(/^backscroll_search_lag_seconds (\S+)$/m.exec(text)?.[1] ?? 0);
}

async function measureAppends(bench: Bench, on: Server): Promise<Result> {
  const off = await startWith(bench, 'off');
  const { perSecond, seconds } = beside;
  const millisOf = (server: Server) => async () =>
    median(await sendAtRate({ port: server.port, next, connections, seconds, perSecond }));
  for (const server of [on, off]) await millisOf(server)();
  bench.log(`appending ${perSecond} messages/s, with and without the search`);
  const measured = await compare(millisOf(off), millisOf(on), bench.pairs);
  await off.stop();
  return {
    ...measured,
    goal: 37,
    what: `median time of an append at ${perSecond} messages/s, with SEARCH=off`,
    against: 'the same with SEARCH=on',
    unit: 'ms',
    target: { min: 0.95 },
  };
}
