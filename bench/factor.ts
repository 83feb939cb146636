import { deepEqual } from 'node:assert/strict';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { appSecret, chat, conversationId, messageId, type Shape } from './data.ts';
import { embeddedDatabase, shape } from './embedded.ts';
import { anyPage, compareRates, pageMessages, rateOf } from './reads.ts';
import type { Bench, Result } from './result.ts';
import { type Server, script, startOurs, startServer } from './servers.ts';
import { fillStraightforward } from './straightforward-tables.ts';

/** Both read the pages of these; the rest of the large database is only there. */
const part: Shape = { ...shape, conversations: 500 };

/** Goal 13: how many times more pages than the straightforward design serves. */
export async function measureFactor(bench: Bench): Promise<Result[]> {
  const { folder, pairs, say } = bench;
  const ours = await startOurs(folder, await embeddedDatabase(bench));
  say('filling the tables of the straightforward design');
  const path = join(folder, 'straightforward.db');
  fillStraightforward(path, hash('sha256', appSecret), chat(part));
  const theirs = await startServer(folder, [script('straightforward.ts'), path]);
  deepEqual(await pageOf(theirs), await pageOf(ours));
  say('the same pages from both');
  const next = anyPage(part);
  const figures = await compareRates(
    () => rateOf(ours, next),
    () => rateOf(theirs, next),
    pairs,
  );
  return [
    {
      ...figures,
      goal: 13,
      what: 'GET /messages, embedded engine, pages not seen before',
      against: 'the straightforward design: rows joined with their parts, JSON.stringify',
      unit: 'requests/s',
      aim: undefined,
    },
  ];
}

/** One page, for seeing that both answer the same. */
async function pageOf({ port }: Server): Promise<unknown> {
  const [conversation, first] = [7, 42];
  const place = `user=user-${conversation}&conversation_id=${conversationId(conversation)}`;
  const cursor = `first_id=${messageId(conversation, first)}&limit=${pageMessages}`;
  const url = `http://127.0.0.1:${port}/v1/messages?${place}&${cursor}`;
  return (await fetch(url, { headers: { authorization: `Bearer ${appSecret}` } })).json();
}
