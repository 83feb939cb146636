import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The upper bound: `node:http` without an application. It gets the same requests and returns the same response to all. */

const [size] = process.argv.slice(2);
const body = Buffer.alloc(size === '304' ? 0 : Number(size), 'x');

const server = createServer((_request, response) => {
  if (size === '304') {
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
