import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The upper bound: `node:http` without an application. It gets the same requests and responds to all with the same length, from
 * one buffer, which stays in the processor's caches, or from one of many, as a server of pages has to.
 *
 * node bare-http.ts BYTES|304 [BUFFERS]
 */

const [size, buffers = '1'] = process.argv.slice(2);
const bytes = size === '304' ? 0 : Number(size);
const bodies = Array.from({ length: Number(buffers) }, (_, at) => Buffer.alloc(bytes, 97 + (at % 26)));

const server = createServer((_request, response) => {
  if (size === '304') {
    response.writeHead(304);
    response.end();
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': bytes });
  response.end(bodies[Math.floor(Math.random() * bodies.length)]);
});

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
