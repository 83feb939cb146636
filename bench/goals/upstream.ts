import { once } from 'node:events';
import http from 'node:http';
import { appSecret } from '../support/data.ts';
import { embeddedDatabase, shape } from '../support/embedded.ts';
import { compare, median } from '../support/pairs.ts';
import { compareRates, pageSet, pick, randomPages, rateOf, requestEach } from '../support/reads.ts';
import type { Bench, Result } from '../support/result.ts';
import { type Server, script, startOurs, startServer } from '../support/servers.ts';

const streamsPerRound = 200;
const addedMillisMax = 2;

/** Goals 28 and 29: what an upstream costs that stores its messages here. */
export async function measureUpstream(bench: Bench): Promise<Result[]> {
  const { folder, pairs, isSelected, log } = bench;
  const database = await embeddedDatabase(bench);
  const upstream = await startServer(folder, [script('bare/bare-stream.ts')]);
  const ours = await startOurs(folder, database, { UPSTREAM_URL: `http://127.0.0.1:${upstream.port}/v1` });
  const alone = await startOurs(folder, database);
  const results: Result[] = [];
  try {
    if (isSelected(28)) {
      log('the first byte of a stream, directly and through this service');
      results.push({ goal: 28, ...(await measureFirstBytes(ours, upstream, pairs)) });
    }
    if (isSelected(29)) {
      log('pages, with an upstream and without');
      const pages = pageSet(shape);
      for (const server of [ours, alone]) await requestEach(server, pages);
      const random = randomPages(shape);
      for (const [kind, next] of [
        ['uncached pages', random],
        [`working set of ${pages.length} pages`, () => pick(pages)],
      ] as const) {
        const measurements = await compareRates(
          () => rateOf(ours, next),
          () => rateOf(alone, next),
          pairs,
        );
        const what = `GET /messages, embedded engine, ${kind}, with UPSTREAM_URL`;
        const against = 'the same without UPSTREAM_URL';
        results.push({ goal: 29, what, against, unit: 'requests/s', target: { min: 0.95 }, ...measurements });
      }
    }
  } finally {
    for (const server of [ours, alone, upstream]) await server.stop();
  }
  return results;
}

/** Both ways alternate within a round, so that the load of the machine affects them alike. */
async function measureFirstBytes(ours: Server, upstream: Server, pairs: number): Promise<Omit<Result, 'goal'>> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const medians: { direct: number[]; passed: number[] } = { direct: [], passed: [] };
  const added = async () => {
    const [direct, passed]: [number[], number[]] = [[], []];
    for (let nth = 0; nth < streamsPerRound; nth += 1) {
      direct.push(await firstByteMillis(upstream, agent));
      passed.push(await firstByteMillis(ours, agent));
    }
    medians.direct.push(median(direct));
    medians.passed.push(median(passed));
    return median(passed) - median(direct);
  };
  try {
    await added();
    medians.direct.length = medians.passed.length = 0;
    const measurements = await compare(added, async () => addedMillisMax, pairs);
    return {
      ...measurements,
      what: 'first byte of a stream that is passed on: added time',
      against: `the ${addedMillisMax} ms that are allowed`,
      unit: 'ms',
      target: { max: 1 },
      notes: {
        'directly, in ms': median(medians.direct),
        'through this service, in ms': median(medians.passed),
      },
    };
  } finally {
    agent.destroy();
  }
}

/** From the request to the first byte of the body. The rest is read, too. */
async function firstByteMillis({ port }: Server, agent: http.Agent): Promise<number> {
  const start = performance.now();
  const request = http.request({
    host: '127.0.0.1',
    port,
    agent,
    method: 'POST',
    path: '/v1/chat-messages',
    headers: { authorization: `Bearer ${appSecret}`, 'content-type': 'application/json' },
  });
  request.end('{"query":"q","user":"user-1","response_mode":"streaming"}');
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}, not 200`);
  let millis: number | undefined;
  for await (const _chunk of response) millis ??= performance.now() - start;
  if (millis === undefined) throw new Error('the stream is empty');
  return millis;
}
