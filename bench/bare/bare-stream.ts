import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An upstream that answers every request at once with a stream of two events. */

const server = createServer((request, response) => {
  request.resume().once('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"event": "message", "answer": "a"}\n\n');
    setImmediate(() => response.end('data: {"event": "message_end"}\n\n'));
  });
});

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
