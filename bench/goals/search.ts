import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { adminSecret, buildIndex, chat, importLines, type Shape } from '../support/data.ts';
import { type Bench, group, type Measured } from '../support/goal.ts';
import { withClients } from '../support/load.ts';
import { comparisonOf, interleave, median } from '../support/pairs.ts';
import { fullOr } from '../support/quick.ts';
import { get, latencyOf } from '../support/reads.ts';
import { type Server, startOurs } from '../support/servers.ts';
import { sendAtRate } from '../support/steady-load.ts';
import { nextWrite, writers, writtenShape } from '../support/write-load.ts';

const shape: Shape = { conversations: fullOr(20_000, 100), messages: 50, bytes: 1_000, secondsApart: 40 };
/** A frequent word, two of them, a phrase, a name, a filter without a word, and a word that no message has. */
const queries = ['q=grinder', 'q=filter+degrees', 'q=%22ninety+three%22', 'q=user-1700', 'status=normal', 'q=zebra'];
const requests = 10;
const millisMax = 20;
const lag = { perSecond: 1_000, seconds: fullOr(30, 3), secondsMax: 10 };

const urlOf = ({ folder }: Bench) => `sqlite:${join(folder, 'search.db')}`;
const lagFileOf = ({ folder }: Bench) => join(folder, 'lag.db');

export const search = group({
  goals: {
    first: {
      what: 'first page of a search among a million messages, the slowest of six queries',
      against: `a limit of ${millisMax} ms`,
      why: 'less than a person notices',
      target: { max: 1 },
    },
    lag: {
      what: `largest lag of the search while ${writers} clients append ${lag.perSecond} messages/s, two workers`,
      against: `a limit of ${lag.secondsMax} s`,
      why: 'who has written a message and looks for it finds it at the second try',
      target: { max: 1 },
    },
  },
  prepare,
  measure: async (bench) => ({ first: await measureFirst(bench), lag: await measureLag(bench) }),
});

async function prepare(bench: Bench): Promise<void> {
  await importLines(urlOf(bench), chat(shape));
  await buildIndex(urlOf(bench));
  await importLines(`sqlite:${lagFileOf(bench)}`, chat(writtenShape));
  await buildIndex(`sqlite:${lagFileOf(bench)}`);
}

/** Medians of each query; the slowest query counts. */
async function measureFirst(bench: Bench): Promise<Measured> {
  const server = await startOurs(bench.folder, urlOf(bench));
  const authorization = `Authorization: Bearer ${adminSecret}\r\n`;
  const millis = await withClients(server.port, 1, async ([client]) => {
    const measures = queries.map((query) => async () => {
      const list = Array(requests).fill(get(`/admin/search?${query}&limit=20`, authorization));
      return client === undefined ? Number.NaN : median(await latencyOf(client, list)) / 1000;
    });
    await interleave(measures, 2);
    return interleave(measures);
  });
  await server.stop();
  const [slowest = []] = millis.toSorted((one, other) => median(other) - median(one));
  const each = queries.map((query, at) => `${decodeURIComponent(query)} ${median(millis[at] ?? []).toFixed(1)}`);
  return { ...comparisonOf(slowest, Array(slowest.length).fill(millisMax)), unit: 'ms', note: each.join(', ') };
}

async function measureLag(bench: Bench): Promise<Measured> {
  const { port, stop } = await startOurs(bench.folder, `sqlite:${lagFileOf(bench)}`, { WORKERS: '2' });
  const { perSecond, seconds, secondsMax } = lag;
  let isSending = true;
  const lags: number[] = [];
  const watching = (async () => {
    for (; isSending; await sleep(500)) lags.push(await lagOf(port));
  })();
  await sendAtRate({ port, next: nextWrite.append, connections: writers, seconds, perSecond });
  isSending = false;
  await watching;
  await stop();
  const limits = lags.map(() => secondsMax);
  const { spread } = comparisonOf(lags, limits);
  return { ...comparisonOf([Math.max(...lags)], [secondsMax]), spread, unit: 's' };
}

/** The age of the oldest change that the search does not find. */
async function lagOf(port: Server['port']): Promise<number> {
  const headers = { authorization: `Bearer ${adminSecret}` };
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`, { headers })).text();
  return Number(/^backscroll_search_lag_seconds (\S+)$/m.exec(text)?.[1] ?? 0);
}
