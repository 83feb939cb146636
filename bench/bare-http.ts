import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The limit: `node:http` with nothing behind it. It is asked what ours is asked, and answers everything alike. */

const [answer] = process.argv.slice(2);
const body = Buffer.alloc(answer === '304' ? 0 : Number(answer), 'x');

const server = createServer((_request, response) => {
  if (answer === '304') {
    response.writeHead(304);
    response.end();
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length });
  response.end(body);
});

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
