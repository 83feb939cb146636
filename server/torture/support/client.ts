import http from 'node:http';

/** What a client was told. Status 0: the connection ended before a whole answer had come. */
export type Told = { status: number; headers: http.IncomingHttpHeaders; text: string; cut: string | undefined };

export type Asked = {
  method?: string;
  key?: string;
  headers?: http.OutgoingHttpHeaders;
  json?: unknown;
  lines?: string;
};

/** A client that keeps its connections and never gives up by itself. */
export class Client {
  readonly #agent = new http.Agent({ keepAlive: true });

  ask(base: string, path: string, { method = 'GET', key, headers, json, lines }: Asked = {}): Promise<Told> {
    const body = json === undefined ? lines : JSON.stringify(json);
    const type = json === undefined ? 'application/x-ndjson' : 'application/json';
    const options = {
      method,
      agent: this.#agent,
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
        ...headers,
      },
    };
    return new Promise((resolve) => {
      const cut = (error: NodeJS.ErrnoException) =>
        resolve({ status: 0, headers: {}, text: '', cut: error.code ?? error.message });
      const request = http.request(`${base}${path}`, options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk)).on('error', cut);
        response.on('end', () => {
          const { statusCode = 0, headers } = response;
          resolve({ status: statusCode, headers, text: Buffer.concat(chunks).toString(), cut: undefined });
        });
      });
      request.on('error', cut).end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
