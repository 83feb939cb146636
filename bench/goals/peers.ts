import { embeddedDatabase, shape } from '../support/embedded.ts';
import { comparisonOf, interleave, median } from '../support/pairs.ts';
import { buildPeers, type Peer } from '../support/peers.ts';
import { pageSet, pick, type Rate, randomPages, rateOf, requestEach } from '../support/reads.ts';
import type { Bench, Result } from '../support/result.ts';
import { type Server, startOurs } from '../support/servers.ts';

const warmSeconds = 4;

/**
 * Goals 33 to 36: processor time of a page, compared with programs in Rust and Go that read the same file. One core each, so
 * processor time is what decides on the rate; requests per second would also depend on the clients.
 */
export async function measurePeers(bench: Bench): Promise<Result[]> {
  const { folder, isSelected, log } = bench;
  const database = await embeddedDatabase(bench);
  const { rust, go } = await buildPeers(folder, log);
  const results: Result[] = [];
  const add = async (peer: Peer | undefined, cachedGoal: number, uncachedGoal: number) => {
    if (peer === undefined || !(isSelected(cachedGoal) || isSelected(uncachedGoal))) return;
    log(`compared with ${peer.name}`);
    const targets = peer === rust ? { cached: { max: 1 / 1.3 }, uncached: { max: 1.6 } } : undefined;
    const ours = await startOurs(folder, database);
    const theirs = await peer.start(database.replace('sqlite:', ''));
    const pages = pageSet(shape);
    await requestEach(ours, pages);
    await requestEach(ours, pages);
    const row = { against: peer.name, unit: 'µs' };
    if (isSelected(cachedGoal)) {
      const what = `processor time of GET /messages, embedded engine, working set of ${pages.length} pages`;
      const measured = await compareMicros(ours, theirs, () => pick(pages), bench.pairs);
      results.push({ goal: cachedGoal, what, ...row, target: targets?.cached, ...measured });
    }
    if (isSelected(uncachedGoal)) {
      const what = 'processor time of GET /messages, embedded engine, uncached pages';
      const measured = await compareMicros(ours, theirs, randomPages(shape), bench.pairs);
      results.push({ goal: uncachedGoal, what, ...row, target: targets?.uncached, ...measured });
    }
    await theirs.stop();
    await ours.stop();
  };
  await add(rust, 33, 34);
  await add(go, 35, 36);
  return results;
}

async function compareMicros(ours: Server, theirs: Server, next: () => string, pairs: number) {
  const rates = new Map<Server, Rate[]>([ours, theirs].map((server) => [server, []]));
  const measures = [ours, theirs].map((server) => async () => {
    const rate = await rateOf(server, next);
    rates.get(server)?.push(rate);
    return rate.processorMicros;
  });
  for (const server of [ours, theirs]) await rateOf(server, next, { seconds: warmSeconds });
  const [mine = [], others = []] = await interleave(measures, pairs);
  const perSecond = (server: Server) => median((rates.get(server) ?? []).map((rate) => rate.perSecond));
  const shown = [ours, theirs].map((server) => perSecond(server).toLocaleString('en', { maximumFractionDigits: 0 }));
  return { ...comparisonOf(mine, others), notes: { 'requests/s': shown.join(' against ') } };
}
