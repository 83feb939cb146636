import { dataset_id, knowledgeSecret } from '../support/data.ts';
import { embeddedDatabase, shape } from '../support/embedded.ts';
import { authorization, compareRates, get, rateOf, requestEach } from '../support/reads.ts';
import type { Bench, Result } from '../support/result.ts';
import { startBare, startOurs } from '../support/servers.ts';

const knowledgeAuthorization = `Authorization: Bearer ${knowledgeSecret}\r\n`;

const lists = [
  {
    what: 'GET /conversations, embedded engine, one user after another',
    requests: Array.from({ length: shape.conversations }, (_, n) =>
      get(`/v1/conversations?user=user-${n}`, authorization),
    ),
    target: { min: 0.25 },
  },
  {
    what: 'GET /datasets/{dataset_id}/documents, embedded engine',
    requests: [get(`/v1/datasets/${dataset_id}/documents`, knowledgeAuthorization)],
    target: { min: 0.15 },
  },
];

/** Goal 40: lists of the embedded engine, which are not cached, compared with a bare HTTP server that gets the same requests. */
export async function measureLists(bench: Bench): Promise<Result[]> {
  const { folder, pairs, log } = bench;
  const ours = await startOurs(folder, await embeddedDatabase(bench));
  const results: Result[] = [];
  for (const { what, requests, target } of lists) {
    log(what);
    const bytes = await requestEach(ours, requests);
    const bare = await startBare(folder, { bytes });
    let at = 0;
    const next = () => requests[(at += 1) % requests.length] as string;
    const rates = await compareRates(
      () => rateOf(ours, next),
      () => rateOf(bare, next),
      pairs,
    );
    await bare.stop();
    const against = `bare node:http with the same ${bytes} bytes`;
    results.push({ goal: 40, what, against, unit: 'requests/s', target, ...rates });
  }
  await ours.stop();
  return results;
}
