import { deepEqual } from 'node:assert/strict';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { fillStraightforward } from '../bare/straightforward-tables.ts';
import { appSecret, chat, conversationId, messageId, type Shape } from '../support/data.ts';
import { embeddedDatabase, shape } from '../support/embedded.ts';
import { compareRates, pageMessages, randomPages, rateOf } from '../support/reads.ts';
import type { Bench, Result } from '../support/result.ts';
import { type Server, script, startOurs, startServer } from '../support/servers.ts';

/** The conversations that are read from both servers; the embedded database has more. */
const sharedShape: Shape = { ...shape, conversations: 500 };

/** Goal 13: how many times more pages per second than the straightforward design. */
export async function measureFactor(bench: Bench): Promise<Result[]> {
  const { folder, pairs, log } = bench;
  const ours = await startOurs(folder, await embeddedDatabase(bench));
  log('filling the tables of the straightforward design');
  const path = join(folder, 'straightforward.db');
  fillStraightforward(path, hash('sha256', appSecret), chat(sharedShape));
  const theirs = await startServer(folder, [script('bare/straightforward.ts'), path]);
  deepEqual(await pageOf(theirs), await pageOf(ours));
  log('the same pages from both servers');
  const next = randomPages(sharedShape);
  const measurements = await compareRates(
    () => rateOf(ours, next),
    () => rateOf(theirs, next),
    pairs,
  );
  return [
    {
      ...measurements,
      goal: 13,
      what: 'GET /messages, embedded engine, uncached pages',
      against: 'the straightforward design: rows joined with their parts, JSON.stringify',
      unit: 'requests/s',
      target: undefined,
    },
  ];
}

/** One page, to check that both servers return the same. */
async function pageOf({ port }: Server): Promise<unknown> {
  const [conversation, first] = [7, 42];
  const scope = `user=user-${conversation}&conversation_id=${conversationId(conversation)}`;
  const cursor = `first_id=${messageId(conversation, first)}&limit=${pageMessages}`;
  const url = `http://127.0.0.1:${port}/v1/messages?${scope}&${cursor}`;
  return (await fetch(url, { headers: { authorization: `Bearer ${appSecret}` } })).json();
}
