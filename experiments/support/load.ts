import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { message, ndjson } from '../../server/test/support/harness.ts';
import { Client, type ClientRequest, type ClientResponse } from './client.ts';
import { type Installation, numberOf, text } from './installation.ts';
import { type Append, type Edits, type Ledger, replacementRecords } from './ledger.ts';

const appendMessages = 5;
/** Between two requests of one client, and after one that failed. */
const pauseMillis = 3;
const retryMillis = 20;
/** Between two large imports, so that edits are not delayed. */
const importPauseMillis = 150;

/** The result of a request while no service is running. */
const noService: ClientResponse = { status: 0, headers: {}, text: '', cut: 'no service' };

export type Load = {
  /** Requests in flight. */
  inFlight: () => number;
  stop: () => Promise<void>;
};

/**
 * Clients that edit, append, import and read until they are stopped, and record what was acknowledged. They wait while no
 * service is running, and retry after a 503 or a lost connection.
 */
export function startLoad({ one, admin }: Installation, ledger: Ledger, base: () => string | undefined): Load {
  const client = new Client();
  let isRunning = true;
  let inFlight = 0;

  /** Records a response. Returns true if the request succeeded. */
  const record = (what: string, { status, cut, text }: ClientResponse): boolean => {
    if (cut === noService.cut) return false;
    if (cut !== undefined) ledger.responses.cut += 1;
    else if (status === 200 || status === 503) ledger.responses[status] += 1;
    else ledger.unexpected.push(`${what}: ${status} ${text.slice(0, 200)}`);
    return status === 200;
  };
  const send = async (path: string, request: ClientRequest) => {
    const currentBase = base();
    if (currentBase === undefined) return noService;
    inFlight += 1;
    const response = await client.request(currentBase, path, request);
    inFlight -= 1;
    return response;
  };
  const loop = async (step: () => Promise<boolean>) => {
    while (isRunning) await sleep(base() !== undefined && (await step()) ? pauseMillis : retryMillis);
  };
  const key = one.keys.knowledge;

  const editor = (edits: Edits) =>
    loop(async () => {
      const number = (edits.sent += 1);
      const json = { content: text(number) };
      const response = await send(edits.chunk.path, { method: 'PATCH', key, json });
      if (!record('PATCH', response)) return false;
      edits.acknowledged.push(number);
      if (JSON.parse(response.text).data.content !== json.content)
        ledger.unexpected.push(`PATCH returned ${response.text}`);
      return true;
    });

  /** Edits with If-Match. It is the only writer of its chunk, so If-Match always holds. */
  const carefulEditor = (edits: Edits) => {
    let tag: string | undefined;
    return loop(async () => {
      if (tag === undefined) {
        const last = edits.acknowledged.at(-1) ?? 0;
        const current = await send(edits.chunk.path, { key });
        if (!record('GET chunk', current)) return false;
        const storedNumber = numberOf(JSON.parse(current.text).data.content);
        if (storedNumber < last) ledger.unexpected.push(`${last} was acknowledged, but ${storedNumber} is stored`);
        tag = current.headers.etag;
      }
      const number = (edits.sent += 1);
      const request = { method: 'PATCH', key, json: { content: text(number) }, headers: { 'if-match': tag } };
      const response = await send(edits.chunk.path, request);
      tag = response.headers.etag;
      if (record('PATCH with If-Match', response)) edits.acknowledged.push(number);
      return response.status === 200;
    });
  };

  const post = async (what: string, key: string, records: object[]): Promise<boolean> => {
    const response = await send('/admin/records', { method: 'POST', key, lines: ndjson(records) });
    if (!record(what, response)) return false;
    if (response.text !== `{"records":${records.length}}`) ledger.unexpected.push(`${what} returned ${response.text}`);
    return true;
  };

  const appender = () =>
    loop(async () => {
      const append: Append = { name: `append ${randomUUID()}`, size: appendMessages, acknowledged: false };
      ledger.appends.push(append);
      const records = Array.from({ length: append.size }, (_, at) =>
        message(one.ids.conversation, 1_000 + at, { query: append.name }),
      );
      return (append.acknowledged = await post('append', one.keys.writer, records));
    });

  const importer = () =>
    loop(async () => {
      const replaced = ledger.overHttp;
      const number = (replaced.sent += 1);
      const isDone = await post('import', admin, replacementRecords(replaced, one.ids.conversation, number));
      if (isDone) replaced.acknowledged.push(number);
      return sleep(importPauseMillis, isDone);
    });

  const reader = () =>
    loop(async () => {
      const path = `/v1/messages?conversation_id=${one.ids.conversation}&limit=5`;
      return record('GET /messages', await send(path, { key: one.keys.app }));
    });

  const editors = ledger.edits.flatMap((edits, at) => {
    if (!edits.hasSingleWriter) return [editor(edits), editor(edits)];
    return at === 0 ? carefulEditor(edits) : editor(edits);
  });
  const clients = [...editors, appender(), appender(), importer(), reader()];
  return {
    inFlight: () => inFlight,
    stop: async () => {
      isRunning = false;
      await Promise.all(clients);
      client.close();
    },
  };
}
