import { once } from 'node:events';
import http from 'node:http';
import { until } from '../until.ts';

export type ConnectionResponse = {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses freely
  body: any;
};

/** A client with one connection, so that all of its requests are served by the same worker. */
export class Connection {
  readonly #base: string;
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

  constructor(base: string) {
    this.#base = base;
  }

  /** An object is sent as JSON, a text as NDJSON. */
  async request(method: string, path: string, key: string, body?: object | string): Promise<ConnectionResponse> {
    const payload = typeof body === 'object' ? JSON.stringify(body) : body;
    const request = http.request(`${this.#base}${path}`, {
      method,
      agent: this.#agent,
      headers: {
        authorization: `Bearer ${key}`,
        ...(payload !== undefined && {
          'content-type': typeof body === 'object' ? 'application/json' : 'application/x-ndjson',
          'content-length': Buffer.byteLength(payload),
        }),
      },
    });
    request.end(payload);
    const [message] = (await once(request, 'response')) as [http.IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const isJson = message.headers['content-type']?.startsWith('application/json') && text !== '';
    const { statusCode: status = 0, headers } = message;
    return { status, headers, text, body: isJson ? JSON.parse(text) : undefined };
  }

  close(): void {
    this.#agent.destroy();
  }
}

/**
 * Connections to a service with two workers, such that each worker has at least two of them. The operating system chooses
 * the worker of a connection.
 */
export async function connectToBothWorkers(base: string, admin: string): Promise<[Connection[], Connection[]]> {
  const ofWorkers: [Connection[], Connection[]] = [[], []];
  const probe = new Connection(base);
  const requestsOf = async (worker: number): Promise<number> => {
    const { text } = await probe.request('GET', '/metrics', admin);
    return Number(new RegExp(`backscroll_worker_requests_total\\{worker="${worker}"\\} (\\d+)`).exec(text)?.[1]);
  };
  const [probedWorker] = await until(async () => {
    const before = [await requestsOf(0), await requestsOf(1)];
    const after = [await requestsOf(0), await requestsOf(1)];
    const growing = [0, 1].filter((worker) => (after[worker] ?? 0) > (before[worker] ?? 0));
    return growing.length === 1 ? growing : undefined;
  });
  const other = probedWorker === 0 ? 1 : 0;
  await until(async () => {
    const connection = new Connection(base);
    const before = await requestsOf(other);
    await connection.request('GET', '/health/live', admin);
    // A request is counted when its response has ended, which may be a moment after the client has it.
    await connection.request('GET', '/health/live', admin);
    const isOther = (await requestsOf(other)) > before;
    ofWorkers[isOther ? other : (probedWorker as number)]?.push(connection);
    return ofWorkers.every((connections) => connections.length >= 2);
  });
  probe.close();
  return ofWorkers;
}
