import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { runImport } from '../dify/runs.ts';
import { createDify, type DifyDatabase, difyRows, ids, tokens } from '../support/dify-database.ts';
import { type Engine, newMigratedUrl, type Service, startService } from '../support/harness.ts';
import { until } from '../support/until.ts';
import { exchange, type ReceivedRequest, ScriptedUpstream } from './scripted-upstream.ts';

/** A Dify installation: its database, and its API, which sends what a test wants. Services in front of it, and a follower. */
export class FakeDify {
  readonly upstream = new ScriptedUpstream();
  readonly #ends: (() => unknown)[] = [];
  readonly #engine: Engine;
  #database: { url: string; remove: () => Promise<void> } | undefined;
  database!: DifyDatabase;
  /** Of the services that are started from now on. */
  heldMillisMax: number | undefined;

  private constructor(engine: Engine) {
    this.#engine = engine;
  }

  static async start(t: TestContext, engine: Engine): Promise<FakeDify> {
    const dify = new FakeDify(engine);
    dify.database = await createDify();
    // A conversation with uploaded files is always passed on.
    await dify.database.run(`${difyRows}; DELETE FROM message_files`);
    await dify.upstream.listen();
    t.after(async () => {
      for (const end of dify.#ends.reverse()) await end();
      await dify.upstream.close();
      await dify.database.close();
      await dify.#database?.remove();
    });
    return dify;
  }

  /** Of all instances in front of it, which have the same database. */
  async settings(): Promise<Record<'DATABASE_URL' | 'UPSTREAM_URL' | 'DIFY_DATABASE_URL', string>> {
    this.#database ??= await newMigratedUrl(this.#engine);
    const { url: DATABASE_URL } = this.#database;
    return { DATABASE_URL, UPSTREAM_URL: this.upstream.url, DIFY_DATABASE_URL: this.database.url };
  }

  /** One more instance. It reaches its database by `databaseUrl`, if that is given. */
  async serve(settings: Record<string, string> = {}, databaseUrl?: string): Promise<Service> {
    const env = await this.settings();
    const DATABASE_URL = databaseUrl ?? env.DATABASE_URL;
    const all = { ...env, DATABASE_URL, ...settings };
    const service = await startService(this.#engine, all, DATABASE_URL, this.heldMillisMax);
    this.#ends.push(() => service.close());
    return service;
  }

  /** Follows it until the test stops that. */
  follow({ store }: Pick<Service, 'store'>): {
    stop: () => Promise<void>;
    stopped: Promise<void>;
    polls: () => number;
  } {
    let polls = 0;
    let stopRun: (() => void) | undefined;
    let isStopped = false;
    const done: Promise<void> = runImport(this.database.url, store, {
      follow: 0.05,
      isOwner: true,
      onPoll: (stop) => {
        polls += 1;
        stopRun = stop;
        if (isStopped) stop();
      },
    }).then(
      () => undefined,
      (error) => {
        if (error.name !== 'AbortError') throw error;
      },
    );
    const stop = async () => {
      isStopped = true;
      void stopRun?.();
      await done;
    };
    this.#ends.push(stop);
    return { stop, stopped: done, polls: () => polls };
  }

  /** A service that has copied everything, and is not followed any more. */
  async serveCopied(settings: Record<string, string> = {}): Promise<Service> {
    const service = await this.serve(settings);
    await runImport(this.database.url, service.store, { isOwner: true });
    await this.untilServed(service);
    return service;
  }

  async untilServed(service: Pick<Service, 'base'>): Promise<void> {
    let status = 0;
    await until(
      async () => {
        const before = this.upstream.requests.length;
        ({ status } = await read(service, `${page()}&limit=1`));
        return status === 200 && this.upstream.requests.length === before;
      },
      () => `Backscroll responds: ${status} after ${this.upstream.requests.length} requests of the upstream`,
    );
    this.upstream.requests.length = 0;
  }

  /** The message that the next answer has, as Dify stores it before it sends the end. */
  message(id: string, conversation_id: string, row: object = {}): Promise<void> {
    const inserted = { id, conversation_id, app_id: ids.app, inputs: {}, query: 'q', answer: 'a', ...row };
    return this.database.insert('messages', inserted);
  }
}

export const page = (conversation: string = ids.conversation) => `/v1/messages?conversation_id=${conversation}`;

export async function read(service: Pick<Service, 'base'>, path: string, secret: string = tokens.app) {
  const { status, body, headers } = await exchange(service.base, 'GET', path, {
    headers: { authorization: `Bearer ${secret}` },
  });
  return { status, headers, text: `${body}` };
}

/** Sends a JSON body. */
export const send = (service: Service, method: string, path: string, body: object, secret: string = tokens.app) =>
  exchange(service.base, method, path, {
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', 'accept-encoding': 'gzip' },
    body: Buffer.from(JSON.stringify(body)),
  });

export const idsIn = (text: string): string[] => JSON.parse(text).data.map(({ id }: { id: string }) => id);

/** One event of an answer, as Dify writes it. */
export const eventOf = (event: string, message_id: string, conversation_id: string, more: object = {}): string =>
  `data: ${JSON.stringify({ event, conversation_id, message_id, created_at: 1, task_id: 't', ...more })}\n\n`;

export const streamHead =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n';

export const chunked = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

export const json = (socket: Socket, body: unknown, status = '200 OK'): void => {
  const text = JSON.stringify(body);
  socket.write(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
};

/** The path of a request, below the base path of the upstream. */
export const pathOf = ({ head }: ReceivedRequest): string => head.split(' ')[1]?.replace('/base', '') ?? '';
export const readSample = (name: string): Buffer => readFileSync(new URL(`./samples/${name}`, import.meta.url));
