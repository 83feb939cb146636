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

/** Goals 13 and 41: the straightforward design of the same pages, and the limit of pages that are read for each request. */
export async function measureFactor(bench: Bench): Promise<Result[]> {
  const { folder, isSelected, log } = bench;
  const database = await embeddedDatabase(bench);
  const ours = await startOurs(folder, database);
  const results: Result[] = [];
  if (isSelected(13)) {
    log('filling the tables of the straightforward design');
    const path = join(folder, 'straightforward.db');
    fillStraightforward(path, hash('sha256', appSecret), chat(sharedShape));
    const theirs = await startServer(folder, [script('bare/straightforward.ts'), path]);
    const against = 'the straightforward design: rows joined with their parts, JSON.stringify';
    results.push({ ...(await comparePages(ours, theirs, sharedShape, bench)), goal: 13, against });
  }
  if (isSelected(41)) {
    const theirs = await startServer(folder, [script('bare/bare-pages.ts'), database.replace('sqlite:', '')]);
    const against =
      'bare node:http that reads each page from the same file by the same statements, and does nothing else';
    results.push({ ...(await comparePages(ours, theirs, shape, bench)), goal: 41, against });
  }
  return results;
}

async function comparePages(ours: Server, theirs: Server, ofPages: Shape, { pairs, log }: Bench) {
  deepEqual(await pageOf(theirs), await pageOf(ours));
  log('the same pages from both servers');
  const next = randomPages(ofPages);
  const measurements = await compareRates(
    () => rateOf(ours, next),
    () => rateOf(theirs, next),
    pairs,
  );
  const what = 'GET /messages, embedded engine, uncached pages';
  return { ...measurements, what, unit: 'requests/s', target: undefined };
}

/** One page, to check that both servers return the same. */
async function pageOf({ port }: Server): Promise<unknown> {
  const [conversation, first] = [7, 42];
  const scope = `user=user-${conversation}&conversation_id=${conversationId(conversation)}`;
  const cursor = `first_id=${messageId(conversation, first)}&limit=${pageMessages}`;
  const url = `http://127.0.0.1:${port}/v1/messages?${scope}&${cursor}`;
  return (await fetch(url, { headers: { authorization: `Bearer ${appSecret}` } })).json();
}
