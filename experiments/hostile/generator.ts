import { gzipSync } from 'node:zlib';
import { Random } from '../support/random.ts';
import type { RawResponse } from '../support/raw-responses.ts';
import { type Exchange, encodeRequest, type Header, type HostileRequest, type RequestParts } from './exchange.ts';
import type { HostileFixture } from './fixture.ts';
import { framings, oddHeaders, oddMethods, oddTargets, oddVersions } from './odd-http.ts';
import { type Operation, OperationRequests, operations } from './operations.ts';

/** A request and its known response. */
export type KnownResponse = { target: string; key: string | undefined; status: number; text: string };

export type Source = { seed: number; fixture: HostileFixture; knownResponses: readonly KnownResponse[] };

/**
 * The exchange with this number. The same seed gives the same exchange, except for ids, which each fixture creates. Each
 * attempt to send it has its own request ids and markers, so that what is stored shows which attempt stored it.
 */
export function generateExchange(source: Source, index: number, attempt = 0): Exchange {
  const random = new Random(source.seed * 1_000_003 + index);
  const generator = new RequestGenerator(random, source, attempt * 10_000_000 + index);
  const end = random.weighted<Exchange['end']>([
    [94, 'close'],
    [3, 'fin'],
    [3, 'reset'],
  ]);
  const pace = random.weighted<Exchange['pace']>([
    [90, 'whole'],
    [8, 'parts'],
    [2, 'byte'],
  ]);
  const count = end === 'reset' && random.chance(0.5) ? 0 : pace === 'byte' ? 1 : 1 + random.below(8);
  const requests: HostileRequest[] = [];
  while (requests.length < count) {
    const request = generator.any();
    requests.push(request);
    // Nothing after it may get a response: one more request tests that.
    if (request.expectation === 'rejected' || request.expectation === 'closes') break;
  }
  if (end === 'close') requests.push(generator.validRead(true));
  else requests.push(end === 'reset' ? generator.abandoned() : generator.truncated());
  // Requests that are sent byte by byte must be short.
  const isLong = requests.reduce((sum, { bytes }) => sum + bytes.length, 0) > 3000;
  return { requests, end, pace: pace === 'byte' && isLong ? 'parts' : pace, localAddress: generator.address() };
}

/** An exchange in which the client stalls in the middle of a request. */
export function generateStalledExchange(source: Source, index: number): Exchange {
  // Far from the numbers of other exchanges, so that no marker is used twice.
  const generator = new RequestGenerator(new Random(source.seed * 7 + index), source, 100_000_000 + index);
  return { requests: [generator.truncated()], pace: 'whole', end: 'stalled', localAddress: generator.address() };
}

/** The records have no person, and no item with a known id. */
const withoutRecord = /^\/admin\/people\/|\{item_id\}/;
const writes = operations.filter(({ method, path }) => method !== 'GET' && !withoutRecord.test(path));

export class RequestGenerator {
  readonly #random: Random;
  readonly #source: Source;
  readonly #index: number;
  readonly #requests: OperationRequests;
  #count = 0;

  constructor(random: Random, source: Source, index: number) {
    this.#random = random;
    this.#source = source;
    this.#index = index;
    this.#requests = new OperationRequests(random, source.fixture);
  }

  address(): string {
    const random = this.#random;
    return `127.${1 + random.below(200)}.${random.below(250)}.${1 + random.below(250)}`;
  }

  any(): HostileRequest {
    const make = this.#random.weighted<() => HostileRequest>([
      [14, () => this.validRead(false)],
      [6, () => this.validOperation()],
      [10, () => this.validWrite()],
      [34, () => this.#almostValid()],
      [8, () => this.#badKey()],
      [5, () => this.#oddMethod()],
      [8, () => this.#oddTarget()],
      [9, () => this.#oddHeader()],
      [6, () => this.#oddFraming()],
    ]);
    return make();
  }

  /** A valid request whose exact response is known. */
  validRead(isLast: boolean): HostileRequest {
    const { target, key, status, text } = this.#random.pick(this.#source.knownResponses);
    const headers: Header[] = key === undefined ? [] : [['Authorization', `Bearer ${key}`]];
    if (isLast) headers.push(['Connection', 'close']);
    const faultOf = (response: RawResponse) =>
      response.status === status && response.body.toString() === text ? undefined : 'not the known response';
    return this.#request('valid read', { method: 'GET', target, headers }, { faultOf });
  }

  /** A valid write: it succeeds. A text that nothing replaces is in the export at the end. */
  validWrite(): HostileRequest {
    const operation = this.#random.pick(writes);
    const isStored = operation.method !== 'DELETE' && /child_chunks|\/admin\/(records|keys)$/.test(operation.path);
    return this.#valid(operation, 'a valid write was rejected', isStored);
  }

  /** A valid read of any operation: it succeeds. */
  validOperation(): HostileRequest {
    const operation = this.#requests.pick();
    return operation.method === 'GET' && !withoutRecord.test(operation.path)
      ? this.#valid(operation, 'a valid read was rejected', false)
      : this.validOperation();
  }

  #valid(operation: Operation, rejected: string, isStored: boolean): HostileRequest {
    const marker = this.#marker();
    const { successes, security } = operation;
    // Without a success in the OpenAPI document the operation is not supported. No request has the cookie of a session.
    const canSucceed = successes.length > 0 && security.join() !== 'consoleSession';
    const faultOf = ({ status }: RawResponse) => (!canSucceed || successes.includes(status) ? undefined : rejected);
    const parts = this.#requests.make(operation, 'none', marker);
    return this.#request(isStored ? 'valid write' : 'valid', parts, { faultOf, marker, isStored });
  }

  /** Valid except for one part, so that it passes most checks. */
  #almostValid(): HostileRequest {
    const operation = this.#requests.pick();
    const mutation = this.#random.pick(['path', 'query', 'header', 'body', 'body', 'owner'] as const);
    const marker = this.#marker();
    const parts = this.#requests.make(operation, mutation, marker);
    const isHead = operation.method === 'GET' && this.#random.chance(0.1);
    return this.#request(`mutated ${mutation}`, isHead ? { ...parts, method: 'HEAD' } : parts, { marker });
  }

  #badKey(): HostileRequest {
    const random = this.#random;
    const { fixture } = this.#source;
    const operation = random.pick(operations.filter(({ security }) => security.length > 0));
    const parts = this.#requests.make(operation, random.pick(['none', 'query', 'path']), this.#marker());
    const validKey = this.#requests.key(operation.security[0], fixture.busy);
    const wrongKind = (['writer', 'app', 'knowledge'] as const).find(
      (kind) => !operation.security.includes(`${kind}Key`),
    );
    const value = random.pick([
      undefined,
      '',
      'Bearer',
      'Bearer ',
      validKey,
      `Basic ${validKey}`,
      `Bearer ${validKey.slice(0, -1)}`,
      `Bearer ${validKey}${validKey}`,
      `Bearer ${validKey},${validKey}`,
      `Bearer ${random.pick(fixture.invalidKeys)}`,
      `Bearer ${random.bytes(30).toString('base64url')}`,
      `Bearer \xff${validKey}`,
      `Bearer ${'A'.repeat(4000)}`,
      `Bearer ${wrongKind && fixture.busy.keys[wrongKind]}`,
    ]);
    const headers = parts.headers.filter(([name]) => name !== 'authorization');
    if (value !== undefined) headers.push(['authorization', value]);
    const isPathBad = /%(?![0-9a-f]{2})/i.test(parts.target) || /%(?:c0|ed|e4%bd)/i.test(parts.target);
    const faultOf = ({ status }: RawResponse) =>
      isPathBad || status === 401 || status === 429 || status === 404 ? undefined : `a bad key got ${status}`;
    return this.#request('bad key', { ...parts, headers }, { faultOf });
  }

  #oddMethod(): HostileRequest {
    const [method, expectation] = this.#random.pick(oddMethods);
    const parts = this.#requests.make(this.#requests.pick(), 'none', this.#marker(), method);
    // An invalid method must not write; a valid one may be rejected because of its body.
    return this.#request(`method ${method}`, parts, { expectation });
  }

  #oddTarget(): HostileRequest {
    const random = this.#random;
    const method = random.pick(['GET', 'GET', 'HEAD', 'POST', 'PATCH', 'OPTIONS']);
    const { target, headers } = this.#requests.make(this.#requests.pick(), 'none', this.#marker(), method);
    const [description, change, expectation] = random.pick(oddTargets);
    const changed = change(target, random);
    const path = changed.replace(/^https?:\/\/[^/?#]*/i, '') || '/';
    return this.#request(
      `target ${description}`,
      { method, target: changed, headers: headers.slice(0, 1) },
      { expectation, path },
    );
  }

  #oddHeader(): HostileRequest {
    const random = this.#random;
    const parts = this.#requests.make(this.#requests.pick(), 'none', this.#marker());
    if (random.chance(0.1)) {
      const [version, expectation] = random.pick(oddVersions);
      return this.#request(`version ${version}`, { ...parts, version }, { expectation });
    }
    const { description, lines, expectation, replaces } = random.pick(oddHeaders);
    const changes = { lines: lines(random), without: replaces };
    const request = this.#request(`header ${description}`, { ...parts, ...changes }, { expectation });
    return replaces === 'X-Request-Id' ? { ...request, id: undefined } : request;
  }

  #oddFraming(): HostileRequest {
    const random = this.#random;
    const marker = this.#marker();
    const { busy } = this.#source.fixture;
    const headers: Header[] = [
      ['authorization', `Bearer ${busy.keys.knowledge}`],
      ['content-type', 'application/json'],
    ];
    const framing = random.pick(framings);
    const json = Buffer.from(JSON.stringify({ content: `${marker} framed` }));
    const body = framing.isCompressed ? gzipSync(json) : json;
    const framed = framing.frame(body);
    const parts = {
      method: 'PATCH',
      target: busy.chunkPath,
      headers: [...headers, ...framed.headers],
      body: framed.body,
    };
    return this.#request(`framing ${framing.description}`, parts, { expectation: framing.expectation, marker });
  }

  /**
   * A request whose response the client does not wait for. Node.js hands the socket of a CONNECT request to the
   * application and no longer handles its errors.
   */
  abandoned(): HostileRequest {
    const make = this.#random.weighted<() => HostileRequest>([
      [4, () => this.truncated()],
      [4, () => this.any()],
      [
        2,
        () => this.#request('CONNECT', { method: 'CONNECT', target: 'x:1', headers: [] }, { expectation: 'rejected' }),
      ],
    ]);
    return make();
  }

  /** The beginning of a request. */
  truncated(): HostileRequest {
    const request = this.#random.chance(0.5) ? this.validWrite() : this.validRead(false);
    const end = 1 + this.#random.below(request.bytes.length - 1);
    const { faultOf: _, isStored: __, ...rest } = request;
    return {
      ...rest,
      description: `truncated at ${end} of ${request.bytes.length}`,
      bytes: request.bytes.subarray(0, end),
      expectation: 'closes',
    };
  }

  #marker(): string {
    return `marker-${this.#index}-${this.#count++}.`;
  }

  #request(
    description: string,
    parts: RequestParts & { without?: string | undefined },
    more: Partial<HostileRequest>,
  ): HostileRequest {
    const id = `r-${this.#index}-${this.#count++}`;
    const all: Header[] = [['Host', 'localhost'], ['X-Request-Id', id], ...parts.headers];
    const bytes = encodeRequest({ ...parts, headers: all.filter(([name]) => name !== parts.without) });
    const deletes = parts.method === 'DELETE' ? parts.target.replace(/\?.*/, '').split('/').at(-1) : undefined;
    const request = { description, bytes, method: parts.method, path: parts.target, id, deletes };
    return { ...request, expectation: 'handled', ...more };
  }
}
