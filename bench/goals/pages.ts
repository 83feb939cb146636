import { embeddedDatabase, shape } from '../support/embedded.ts';
import {
  compareRates,
  conditionalRequests,
  pageSet,
  pick,
  type RateComparison,
  randomPages,
  rateOf,
  requestEach,
} from '../support/reads.ts';
import type { Bench, Result } from '../support/result.ts';
import { startBare, startOurs } from '../support/servers.ts';

const what = 'GET /messages, embedded engine';

/** Goals 1 to 3: pages of the embedded engine, compared with a bare HTTP server that gets the same requests. */
export async function measurePages(bench: Bench): Promise<Result[]> {
  const { folder, pairs, isSelected, log } = bench;
  const ours = await startOurs(folder, await embeddedDatabase(bench));
  const pages = pageSet(shape);
  const bytes = await requestEach(ours, pages);
  const bare = await startBare(folder, { bytes });
  const empty = await startBare(folder, 304);
  const results: Result[] = [];
  const add = (goal: number, kind: string, against: string, min: number, measurements: RateComparison) =>
    results.push({ goal, what: `${what}, ${kind}`, against, unit: 'requests/s', target: { min }, ...measurements });
  try {
    const againstBytes = `bare node:http with the same ${bytes} bytes`;
    if (isSelected(1)) {
      log('uncached pages');
      const next = randomPages(shape);
      const measurements = await compareRates(
        () => rateOf(ours, next),
        () => rateOf(bare, next),
        pairs,
      );
      add(1, 'uncached pages', againstBytes, 0.35, measurements);
    }
    if (isSelected(2)) {
      log('a working set of pages');
      await requestEach(ours, pages);
      const next = () => pick(pages);
      const measurements = await compareRates(
        () => rateOf(ours, next),
        () => rateOf(bare, next),
        pairs,
      );
      add(2, `working set of ${pages.length} pages`, againstBytes, 0.75, measurements);
    }
    if (isSelected(3)) {
      log('pages that the client has cached');
      const requests = await conditionalRequests(ours, pages);
      const next = () => pick(requests);
      const measurements = await compareRates(
        () => rateOf(ours, next, { status: 304 }),
        () => rateOf(empty, next, { status: 304 }),
        pairs,
      );
      add(3, 'If-None-Match with a 304 response', 'bare node:http returning an empty 304', 0.6, measurements);
    }
  } finally {
    await ours.stop();
    await bare.stop();
    await empty.stop();
  }
  return results;
}
