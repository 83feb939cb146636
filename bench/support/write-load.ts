import { appendRequest, editRequest, type Shape } from './data.ts';
import { chunks } from './databases.ts';
import { load } from './load.ts';
import { serveHelper } from './servers.ts';

/** Clients that write without pause, in a separate process: `write-load.ts PORT edit|append`. */

export type WriteKind = 'edit' | 'append';

/** The conversations that get messages. */
export const writtenShape: Shape = { conversations: 200, messages: 20, bytes: 1_000 };
export const writers = 64;

let count = Date.now();
const randomBelow = (size: number): number => Math.floor(Math.random() * size);

export const nextWrite: Record<WriteKind, () => string> = {
  edit: () => editRequest(randomBelow(chunks), (count += 1)),
  append: () => appendRequest(randomBelow(writtenShape.conversations), (count += 1)),
};

if (import.meta.main) {
  const [port, kind] = process.argv.slice(2);
  const next = nextWrite[kind === 'append' ? 'append' : 'edit'];
  serveHelper(async ({ seconds }: { seconds: number }) => {
    const done = await load({ port: Number(port), next, connections: writers, seconds, status: 200 });
    return { writes: done.requests, perSecond: done.requests / done.seconds };
  });
}
