import { embeddedDatabase, shape } from './embedded.ts';
import { anyPage, type ComparedRates, compareRates, fewPages, heldPages, pick, rateOf, visit } from './reads.ts';
import type { Bench, Result } from './result.ts';
import { startBare, startOurs } from './servers.ts';

const what = 'GET /messages, embedded engine';

/** Goals 1 to 3: pages of the embedded engine against a server with nothing behind it that is asked the same. */
export async function measurePages(bench: Bench): Promise<Result[]> {
  const { folder, pairs, wants, say } = bench;
  const ours = await startOurs(folder, await embeddedDatabase(bench));
  const few = fewPages(shape);
  const bytes = await visit(ours, few);
  const bare = await startBare(folder, { bytes });
  const empty = await startBare(folder, 304);
  const results: Result[] = [];
  const add = (goal: number, kind: string, against: string, min: number, figures: ComparedRates) =>
    results.push({ goal, what: `${what}, ${kind}`, against, unit: 'requests/s', aim: { min }, ...figures });
  try {
    const againstBytes = `bare node:http with the same ${bytes} bytes`;
    if (wants(1)) {
      say('pages not seen before');
      const next = anyPage(shape);
      const figures = await compareRates(
        () => rateOf(ours, next),
        () => rateOf(bare, next),
        pairs,
      );
      add(1, 'pages not seen before', againstBytes, 0.35, figures);
    }
    if (wants(2)) {
      say('a working set of pages');
      await visit(ours, few);
      const next = () => pick(few);
      const figures = await compareRates(
        () => rateOf(ours, next),
        () => rateOf(bare, next),
        pairs,
      );
      add(2, `working set of ${few.length} pages`, againstBytes, 0.75, figures);
    }
    if (wants(3)) {
      say('pages that the client holds');
      const held = await heldPages(ours, few);
      const next = () => pick(held);
      const figures = await compareRates(
        () => rateOf(ours, next, 304),
        () => rateOf(empty, next, 304),
        pairs,
      );
      add(3, 'If-None-Match answered by 304', 'bare node:http answering an empty 304', 0.6, figures);
    }
  } finally {
    await ours.stop();
    await bare.stop();
    await empty.stop();
  }
  return results;
}
