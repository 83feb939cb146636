import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parse } from 'fast-querystring';
import { openReader } from '../../server/src/store/sqlite/connection.ts';
import { findPage } from '../../server/src/store/sqlite/page.ts';
import { app_id } from '../support/data.ts';

/**
 * The limit of uncached pages: `node:http` and the service's own read of a page, without keys, validation, cache, headers, log and
 * metrics.
 *
 * node bare-pages.ts DATABASE
 */

const [path = ''] = process.argv.slice(2);
const db = openReader(path);

function readPage(url: string) {
  const { conversation_id, user, first_id, limit } = parse(url.slice(url.indexOf('?') + 1)) as Record<string, string>;
  const position = { app_id, conversation_id: conversation_id ?? '', user, first_id };
  const shape = { limit: Number(limit), page_order: 'newest_first' } as const;
  const found = db.snapshot(() => findPage(db, position, shape, undefined, false));
  const messages = found === 'may_be_large' ? 'too_large' : found?.messages;
  if (messages === undefined || messages === 'too_large') throw new Error(`there is no page at ${url}`);
  return { ...messages, head: `{"limit":${limit},"has_more":${messages.next !== undefined},"data":[` };
}

const server = createServer((request, response) => {
  const { head, docs } = readPage(request.url ?? '');
  const length = head.length + docs.length + 2;
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': length });
  response.write(head, 'latin1');
  response.write(docs);
  response.end(']}', 'latin1');
});

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
