import type { RawResponse } from '../support/raw-responses.ts';

/**
 * The expected result of a request. `handled`: a response with the request's id, and the connection stays open.
 * `rejected`: the request is malformed, so it gets a 4xx without its id, and nothing after it gets a response. `closes`:
 * handled or rejected, and nothing after it gets a response. `either`: handled or rejected.
 */
export type Expectation = 'handled' | 'rejected' | 'closes' | 'either';

/** One request on a connection, and its expected result. */
export type HostileRequest = {
  /** The unusual property of the exchange. */
  description: string;
  bytes: Buffer;
  method: string;
  /** The path under which the response is looked up in the OpenAPI document. */
  path: string;
  /** The X-Request-Id that the response must have; undefined if the service may create a new one. */
  id: string | undefined;
  expectation: Expectation;
  /** Describes what is wrong with the response, for requests that expect more than `expectation`. */
  faultOf?: ((response: RawResponse) => string | undefined) | undefined;
  /** A text that may be in the export if the request is accepted, and must not be if it is rejected. */
  marker?: string | undefined;
  /** After a 2xx the export must contain `marker`. */
  isStored?: boolean;
  /** The record that is deleted after a 2xx. */
  deletes?: string | undefined;
};

/** Requests on one connection, how they are sent, and how the client ends the connection. */
export type Exchange = {
  requests: HostileRequest[];
  /** `byte`: one byte at a time. `parts`: split at any position. */
  pace: 'whole' | 'byte' | 'parts';
  /**
   * `close`: the last request has `Connection: close`. `fin`: the last request is truncated and the client closes.
   * `reset`: the client resets the connection, whether the last request is truncated or not. `stalled`: the last request
   * is truncated, and the client waits.
   */
  end: 'close' | 'fin' | 'reset' | 'stalled';
  /** The loopback address of the client: failed keys are counted by address. */
  localAddress: string;
};

/** The id of requests that are smuggled in the body of another, and of no other request. */
export const smuggledId = 'smuggled-request';

export type Header = readonly [name: string, value: string];

export type RequestParts = {
  method: string;
  target: string;
  headers: readonly Header[];
  body?: Buffer | string | undefined;
  version?: string;
  /** Raw header lines, sent before the other headers. */
  lines?: string;
};

/** The bytes of a request. The body gets a Content-Length unless the headers define its framing. */
export function encodeRequest({
  method,
  target,
  headers,
  body,
  version = 'HTTP/1.1',
  lines = '',
}: RequestParts): Buffer {
  const hasFraming = headers.some(([name]) => /^(content-length|transfer-encoding)\b/i.test(name.trim()));
  const length = body === undefined || hasFraming ? [] : [`content-length: ${Buffer.byteLength(body)}`];
  const all = [...headers.map(([name, value]) => `${name}: ${value}`), ...length];
  const head = Buffer.from(`${method} ${target} ${version}\r\n${lines}${all.join('\r\n')}\r\n\r\n`, 'latin1');
  return body === undefined ? head : Buffer.concat([head, Buffer.from(body)]);
}
