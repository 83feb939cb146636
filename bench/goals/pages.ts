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
import { type Server, startBare, startOurs } from '../support/servers.ts';

const what = 'GET /messages, embedded engine';

/** As many pages as the bare server has that pays for memory, too. */
const buffers = 8_000;

/** Goals 1 to 3, 38 and 39: pages of the embedded engine, compared with bare HTTP servers that get the same requests. */
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
    const compareWith = (server: Server, next: () => string) =>
      compareRates(
        () => rateOf(ours, next),
        () => rateOf(server, next),
        pairs,
      );
    const uncached = randomPages(shape);
    if (isSelected(1)) {
      log('uncached pages');
      add(1, 'uncached pages', againstBytes, 0.35, await compareWith(bare, uncached));
    }
    await requestEach(ours, pages);
    const cached = () => pick(pages);
    if (isSelected(2)) {
      log('a working set of pages');
      add(2, `working set of ${pages.length} pages`, againstBytes, 0.75, await compareWith(bare, cached));
    }
    if (isSelected(38) || isSelected(39)) {
      log(`the same, and a bare server with ${buffers} buffers`);
      const many = await startBare(folder, { bytes, buffers });
      const againstMany = `bare node:http that sends one of ${buffers} buffers of ${bytes} bytes`;
      if (isSelected(38)) add(38, 'uncached pages', againstMany, 0.36, await compareWith(many, uncached));
      await requestEach(ours, pages);
      if (isSelected(39))
        add(39, `working set of ${pages.length} pages`, againstMany, 0.75, await compareWith(many, cached));
      await many.stop();
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
