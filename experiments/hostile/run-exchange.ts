import net from 'node:net';
import { setTimeout as sleep, setImmediate as tick } from 'node:timers/promises';
import type { Outcome } from './check-exchange.ts';
import type { Exchange } from './exchange.ts';

const resetMillis = 30;

/** Sends the requests of a connection and collects what it receives until the connection closes or the time is up. */
export async function runExchange(port: number, exchange: Exchange, millisMax: number): Promise<Outcome> {
  const { requests, pace, end, localAddress } = exchange;
  const startedAt = performance.now();
  const socket = net.connect({ port, host: '127.0.0.1', localAddress, noDelay: true });
  const chunks: Buffer[] = [];
  let isTimedOut = false;
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // The service may close while the client sends: what it sent before that counts.
  socket.on('error', () => undefined);
  const responded = new Promise<void>((resolve) => socket.once('data', () => resolve()));
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const timer = setTimeout(() => {
    isTimedOut = true;
    socket.destroy();
  }, millisMax);
  const bytes = Buffer.concat(requests.map((request) => request.bytes));
  for (const part of split(bytes, pace)) {
    if (socket.destroyed) break;
    socket.write(part);
    if (pace !== 'whole') await tick();
  }
  if (end === 'fin') socket.end();
  if (end === 'reset') {
    // Once everything is sent, and sometimes once a response has arrived.
    await new Promise<void>((resolve) => (socket.destroyed ? resolve() : socket.write('', () => resolve())));
    if (pace === 'whole') await Promise.race([responded, closed, sleep(resetMillis)]);
    socket.resetAndDestroy();
  }
  await closed;
  clearTimeout(timer);
  return { bytes: Buffer.concat(chunks), millis: performance.now() - startedAt, isTimedOut };
}

function split(bytes: Buffer, pace: Exchange['pace']): Buffer[] {
  if (pace === 'whole') return [bytes];
  const length = pace === 'byte' ? 1 : 1 + Math.ceil(bytes.length / 7);
  return Array.from({ length: Math.ceil(bytes.length / length) }, (_, at) =>
    bytes.subarray(at * length, (at + 1) * length),
  );
}
