import net from 'node:net';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import type { Outcome } from './judge.ts';
import type { Exchange } from './shot.ts';

const resetMillis = 30;

/** Sends the requests of a connection, and takes what comes until it closes or the time is up. */
export async function converse(port: number, exchange: Exchange, millisMax: number): Promise<Outcome> {
  const { shots, pace, end, from } = exchange;
  const began = performance.now();
  const socket = net.connect({ port, host: '127.0.0.1', localAddress: from, noDelay: true });
  const chunks: Buffer[] = [];
  let isLate = false;
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // The service may close while we send: what it said before counts.
  socket.on('error', () => undefined);
  const answered = new Promise<void>((resolve) => socket.once('data', () => resolve()));
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const timer = setTimeout(() => {
    isLate = true;
    socket.destroy();
  }, millisMax);
  const bytes = Buffer.concat(shots.map((shot) => shot.bytes));
  for (const piece of cut(bytes, pace)) {
    if (socket.destroyed) break;
    socket.write(piece);
    if (pace !== 'whole') await turn();
  }
  if (end === 'fin') socket.end();
  if (end === 'reset') {
    // Once all has left, and at times once something has come back.
    await new Promise<void>((resolve) => (socket.destroyed ? resolve() : socket.write('', () => resolve())));
    if (pace === 'whole') await Promise.race([answered, closed, sleep(resetMillis)]);
    socket.resetAndDestroy();
  }
  await closed;
  clearTimeout(timer);
  return { bytes: Buffer.concat(chunks), millis: performance.now() - began, isLate };
}

function cut(bytes: Buffer, pace: Exchange['pace']): Buffer[] {
  if (pace === 'whole') return [bytes];
  const length = pace === 'byte' ? 1 : 1 + Math.ceil(bytes.length / 7);
  return Array.from({ length: Math.ceil(bytes.length / length) }, (_, at) =>
    bytes.subarray(at * length, (at + 1) * length),
  );
}
