import { editRequest } from './data.ts';
import { chunks } from './embedded.ts';
import { load } from './load.ts';
import { serveHelper } from './servers.ts';

/** Clients that edit without pause, in a separate process: `edit-load.ts PORT`. */

const [port] = process.argv.slice(2);
const connections = 64;
let edits = Date.now();

const next = () => editRequest(Math.floor(Math.random() * chunks), (edits += 1));

serveHelper(async ({ seconds }: { seconds: number }) => {
  const done = await load({ port: Number(port), next, connections, seconds, status: 200 });
  return { edits: done.requests, perSecond: done.requests / done.seconds };
});
