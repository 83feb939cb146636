import http from 'node:http';

/** A response. Status 0: the connection ended before the response was complete, and `cut` is the error code. */
export type ClientResponse = {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
  cut: string | undefined;
};

export type ClientRequest = {
  method?: string;
  key?: string;
  headers?: http.OutgoingHttpHeaders;
  json?: unknown;
  lines?: string;
};

/** A client with persistent connections and without timeouts, at an address of this machine. */
export class Client {
  readonly #agent: http.Agent;

  constructor(localAddress = '127.0.0.1') {
    this.#agent = new http.Agent({ keepAlive: true, localAddress });
  }

  request(
    base: string,
    path: string,
    { method = 'GET', key, headers, json, lines }: ClientRequest = {},
  ): Promise<ClientResponse> {
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
      const fail = (error: NodeJS.ErrnoException) =>
        resolve({ status: 0, headers: {}, text: '', cut: error.code ?? error.message });
      const request = http.request(`${base}${path}`, options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk)).on('error', fail);
        response.on('end', () => {
          const { statusCode = 0, headers } = response;
          resolve({ status: statusCode, headers, text: Buffer.concat(chunks).toString(), cut: undefined });
        });
      });
      request.on('error', fail).end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
