import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The limit: `node:http` with nothing behind it. `/<bytes>` answers that many from memory, `/304` an empty 304. */

const bodies = new Map<string, Buffer>();

function bodyOf(path: string): Buffer {
  let body = bodies.get(path);
  if (body === undefined) {
    body = Buffer.alloc(Number(path.slice(1)), 'x');
    bodies.set(path, body);
  }
  return body;
}

const server = createServer((request, response) => {
  const path = request.url ?? '/';
  if (path === '/304') {
    response.writeHead(304);
    response.end();
    return;
  }
  const body = bodyOf(path);
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length });
  response.end(body);
});

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
