import type { RawAnswer } from '../support/raw-responses.ts';

/**
 * What must become of a request. `answered`: as a request, with its own id, and the connection goes on. `refused`: it is
 * no HTTP, so it gets a 4xx that carries no id of its own, and nothing after it is answered. `ends`: one or the other,
 * and nothing after it is answered. `either`: one or the other.
 */
export type Fate = 'answered' | 'refused' | 'ends' | 'either';

/** One request on a connection, and what must become of it. */
export type Shot = {
  /** What is odd about it. */
  about: string;
  bytes: Buffer;
  method: string;
  /** As the answer is looked up in the OpenAPI document. */
  path: string;
  /** The X-Request-Id that its answer must carry; undefined where a new one may be made. */
  id: string | undefined;
  fate: Fate;
  /** Says what is wrong with the answer, where more is known of it. */
  wrong?: ((response: RawAnswer) => string | undefined) | undefined;
  /** Stands in the export if this is taken, and must not if it is refused. */
  mark?: string | undefined;
  /** `mark` must stand there after a 200. */
  isStored?: boolean;
};

/** Requests on one connection; how they are sent, and how the client leaves. */
export type Exchange = {
  shots: Shot[];
  /** `byte`: one byte at a time. `pieces`: cut anywhere. */
  pace: 'whole' | 'byte' | 'pieces';
  /**
   * `asked`: the last request asks to close. `fin`: the last request is cut and the client closes. `reset`: cut or not, it
   * resets the connection.
   * `silent`: the last request is cut, and the client waits.
   */
  end: 'asked' | 'fin' | 'reset' | 'silent';
  /** The loopback address it comes from: failed keys are counted by address. */
  from: string;
};

/** Never the id of a request: it stands in what is hidden in the body of another. */
export const hiddenId = 'hidden-request';

export type Header = readonly [name: string, value: string];

export type Plain = {
  method: string;
  target: string;
  headers: readonly Header[];
  body?: Buffer | string | undefined;
  version?: string;
  /** Header lines as they are sent, before the others. */
  lines?: string;
};

/** A request as bytes. The body has a Content-Length unless the headers speak of its framing. */
export function bytesOf({ method, target, headers, body, version = 'HTTP/1.1', lines = '' }: Plain): Buffer {
  const framed = headers.some(([name]) => /^(content-length|transfer-encoding)\b/i.test(name.trim()));
  const length = body === undefined || framed ? [] : [`content-length: ${Buffer.byteLength(body)}`];
  const all = [...headers.map(([name, value]) => `${name}: ${value}`), ...length];
  const head = Buffer.from(`${method} ${target} ${version}\r\n${lines}${all.join('\r\n')}\r\n\r\n`, 'latin1');
  return body === undefined ? head : Buffer.concat([head, Buffer.from(body)]);
}
