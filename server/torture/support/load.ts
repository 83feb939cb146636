import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { message, ndjson } from '../../test/support/harness.ts';
import { type Asked, Client, type Told } from './client.ts';
import { type Installation, numberOf, text } from './installation.ts';
import { type Append, type Edits, type Ledger, replacing } from './ledger.ts';

const appendMessages = 5;
/** Between two requests of one client, and after one that was not taken. */
const pauseMillis = 3;
const againMillis = 20;
/** Between two imports that are large: edits get their turn. */
const importPauseMillis = 150;

/** There is no service to ask. */
const nowhere: Told = { status: 0, headers: {}, text: '', cut: 'no service' };

export type Load = {
  /** Requests under way. */
  inFlight: () => number;
  stop: () => Promise<void>;
};

/**
 * Clients that edit, append, import and read until they are stopped, and note what they were told. They wait while there
 * is no service, and ask again where it says 503 or is gone meanwhile.
 */
export function startLoad({ one, admin }: Installation, ledger: Ledger, base: () => string | undefined): Load {
  const client = new Client();
  let running = true;
  let inFlight = 0;

  /** True where it was done. */
  const take = (what: string, { status, cut, text }: Told): boolean => {
    if (cut === nowhere.cut) return false;
    if (cut !== undefined) ledger.answers.cut += 1;
    else if (status === 200 || status === 503) ledger.answers[status] += 1;
    else ledger.wrong.push(`${what}: ${status} ${text.slice(0, 200)}`);
    return status === 200;
  };
  const ask = async (path: string, asked: Asked) => {
    const there = base();
    if (there === undefined) return nowhere;
    inFlight += 1;
    const told = await client.ask(there, path, asked);
    inFlight -= 1;
    return told;
  };
  const loop = async (turn: () => Promise<boolean>) => {
    while (running) await sleep(base() !== undefined && (await turn()) ? pauseMillis : againMillis);
  };
  const key = one.keys.knowledge;

  const editor = (edits: Edits) =>
    loop(async () => {
      const number = (edits.sent += 1);
      const json = { content: text(number) };
      const told = await ask(edits.chunk.path, { method: 'PATCH', key, json });
      if (!take('PATCH', told)) return false;
      edits.acknowledged.push(number);
      if (JSON.parse(told.text).data.content !== json.content) ledger.wrong.push(`PATCH answered ${told.text}`);
      return true;
    });

  /** Replaces only what it has seen. It is the only one to write there, so it is never refused. */
  const carefulEditor = (edits: Edits) => {
    let tag: string | undefined;
    return loop(async () => {
      if (tag === undefined) {
        const last = edits.acknowledged.at(-1) ?? 0;
        const seen = await ask(edits.chunk.path, { key });
        if (!take('GET chunk', seen)) return false;
        const stands = numberOf(JSON.parse(seen.text).data.content);
        if (stands < last) ledger.wrong.push(`${last} was acknowledged, but ${stands} stands`);
        tag = seen.headers.etag;
      }
      const number = (edits.sent += 1);
      const asked = { method: 'PATCH', key, json: { content: text(number) }, headers: { 'if-match': tag } };
      const told = await ask(edits.chunk.path, asked);
      tag = told.headers.etag;
      if (take('PATCH with If-Match', told)) edits.acknowledged.push(number);
      return told.status === 200;
    });
  };

  const post = async (what: string, key: string, records: object[]): Promise<boolean> => {
    const told = await ask('/admin/records', { method: 'POST', key, lines: ndjson(records) });
    if (!take(what, told)) return false;
    if (told.text !== `{"records":${records.length}}`) ledger.wrong.push(`${what} answered ${told.text}`);
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
      const isDone = await post('import', admin, replacing(replaced, one.ids.conversation, number));
      if (isDone) replaced.acknowledged.push(number);
      return sleep(importPauseMillis, isDone);
    });

  const reader = () =>
    loop(async () => {
      const path = `/v1/messages?conversation_id=${one.ids.conversation}&limit=5`;
      return take('GET /messages', await ask(path, { key: one.keys.app }));
    });

  const editors = ledger.edits.flatMap((edits, at) => {
    if (!edits.alone) return [editor(edits), editor(edits)];
    return at === 0 ? carefulEditor(edits) : editor(edits);
  });
  const clients = [...editors, appender(), appender(), importer(), reader()];
  return {
    inFlight: () => inFlight,
    stop: async () => {
      running = false;
      await Promise.all(clients);
      client.close();
    },
  };
}
