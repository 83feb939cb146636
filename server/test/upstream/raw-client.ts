import { connect } from 'node:net';

/** What came back on a connection until it closed. `status` is 0 if that was no whole response. */
export type RawResponse = { status: number; head: string; body: string };

/** Sends these bytes on a connection of their own, and reads until it closes, or nothing arrives for a while. */
export function sendRaw(port: number, bytes: string, silentMillisMax = 10_000): Promise<RawResponse> {
  return new Promise((resolve) => {
    let received = '';
    const socket = connect(port, '127.0.0.1');
    socket.setTimeout(silentMillisMax, () => socket.destroy());
    socket.on('data', (chunk) => (received += chunk.toString('latin1'))).on('error', () => undefined);
    socket.once('close', () => resolve(read(received)));
    socket.write(bytes, 'latin1');
  });
}

function read(received: string): RawResponse {
  const start = received.startsWith('HTTP/1.1 100 ') ? received.indexOf('\r\n\r\n') + 4 : 0;
  const end = received.indexOf('\r\n\r\n', start);
  const head = received.slice(start, end === -1 ? undefined : end);
  return {
    status: end === -1 ? 0 : Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? 0),
    head,
    body: received.slice(end + 4),
  };
}
