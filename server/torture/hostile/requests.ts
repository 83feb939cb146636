import { gzipSync } from 'node:zlib';
import { Random } from '../support/random.ts';
import type { RawAnswer } from '../support/raw-responses.ts';
import { framings, oddHeaders, oddMethods, oddTargets, oddVersions } from './http.ts';
import { OperationRequests, operations } from './operations.ts';
import { bytesOf, type Exchange, type Header, type Plain, type Shot } from './shot.ts';
import type { HostileWorld } from './world.ts';

/** A request with a known answer. */
export type Known = { target: string; key: string | undefined; status: number; text: string };

export type Source = { seed: number; world: HostileWorld; known: readonly Known[] };

/** The connection of this number. The same for the same seed, but for ids, which are new in each world. */
export function makeExchange(source: Source, index: number): Exchange {
  const random = new Random(source.seed * 1_000_003 + index);
  const maker = new Maker(random, source, index);
  const end = random.weighted<Exchange['end']>([
    [94, 'asked'],
    [3, 'fin'],
    [3, 'reset'],
  ]);
  const pace = random.weighted<Exchange['pace']>([
    [90, 'whole'],
    [8, 'pieces'],
    [2, 'byte'],
  ]);
  const count = end === 'reset' && random.chance(0.5) ? 0 : pace === 'byte' ? 1 : 1 + random.below(8);
  const shots: Shot[] = [];
  while (shots.length < count) {
    const shot = maker.any();
    shots.push(shot);
    // What comes after it must not be answered: one request more shows that.
    if (shot.fate === 'refused' || shot.fate === 'ends') break;
  }
  if (end === 'asked') shots.push(maker.known(true));
  else shots.push(end === 'reset' ? maker.left() : maker.cut());
  // Odd ones that come byte by byte must still be short.
  const isLong = shots.reduce((sum, { bytes }) => sum + bytes.length, 0) > 3000;
  return { shots, end, pace: pace === 'byte' && isLong ? 'pieces' : pace, from: maker.address() };
}

/** Connections on which the client falls silent in the middle of a request. */
export function makeSilent(source: Source, index: number): Exchange {
  // Far from the numbers of other connections, so that no mark is used twice.
  const maker = new Maker(new Random(source.seed * 7 + index), source, 100_000_000 + index);
  return { shots: [maker.cut()], pace: 'whole', end: 'silent', from: maker.address() };
}

class Maker {
  readonly #random: Random;
  readonly #source: Source;
  readonly #index: number;
  readonly #requests: OperationRequests;
  #count = 0;

  constructor(random: Random, source: Source, index: number) {
    this.#random = random;
    this.#source = source;
    this.#index = index;
    this.#requests = new OperationRequests(random, source.world);
  }

  address(): string {
    const random = this.#random;
    return `127.${1 + random.below(200)}.${random.below(250)}.${1 + random.below(250)}`;
  }

  any(): Shot {
    const make = this.#random.weighted<() => Shot>([
      [20, () => this.known(false)],
      [10, () => this.write()],
      [34, () => this.#nearly()],
      [8, () => this.#badKey()],
      [5, () => this.#oddMethod()],
      [8, () => this.#oddTarget()],
      [9, () => this.#oddHeader()],
      [6, () => this.#oddFraming()],
    ]);
    return make();
  }

  /** A good request, whose answer is known to the byte. */
  known(isLast: boolean): Shot {
    const { target, key, status, text } = this.#random.pick(this.#source.known);
    const headers: Header[] = key === undefined ? [] : [['Authorization', `Bearer ${key}`]];
    if (isLast) headers.push(['Connection', 'close']);
    const wrong = (response: RawAnswer) =>
      response.status === status && response.body.toString() === text ? undefined : 'not the answer that is known';
    return this.#shot('good', { method: 'GET', target, headers }, { wrong });
  }

  /** A good write: 200, and it is there at the end. */
  write(): Shot {
    const { busy } = this.#source.world;
    const mark = this.#mark();
    const wrong = ({ status }: RawAnswer) => (status === 200 ? undefined : 'a good write was refused');
    const writes = operations.filter(
      ({ path, body }) => body !== undefined && /child_chunks|\/admin\/records/.test(path),
    );
    const operation = this.#random.pick(writes);
    const plain = this.#requests.make(operation, 'none', mark);
    const headers = plain.headers.filter(([name]) => name !== 'if-match');
    if (!plain.target.includes(busy.ids.chunk) && operation.path !== '/admin/records')
      throw new Error('a write elsewhere');
    return this.#shot('good write', { ...plain, headers }, { wrong, mark, isStored: true });
  }

  /** Goes deep: right in all parts but one. */
  #nearly(): Shot {
    const operation = this.#requests.pick();
    const bend = this.#random.pick(['path', 'query', 'header', 'body', 'body', 'owner'] as const);
    const mark = this.#mark();
    const plain = this.#requests.make(operation, bend, mark);
    const isHead = operation.method === 'GET' && this.#random.chance(0.1);
    return this.#shot(`bent ${bend}`, isHead ? { ...plain, method: 'HEAD' } : plain, { mark });
  }

  #badKey(): Shot {
    const random = this.#random;
    const { world } = this.#source;
    const operation = random.pick(operations.filter(({ security }) => security.length > 0));
    const plain = this.#requests.make(operation, random.pick(['none', 'query', 'path']), this.#mark());
    const good = this.#requests.key(operation.security[0], world.busy);
    const value = random.pick([
      undefined,
      '',
      'Bearer',
      'Bearer ',
      good,
      `Basic ${good}`,
      `Bearer ${good.slice(0, -1)}`,
      `Bearer ${good}${good}`,
      `Bearer ${good},${good}`,
      `Bearer ${random.pick(world.dead)}`,
      `Bearer ${random.bytes(30).toString('base64url')}`,
      `Bearer \xff${good}`,
      `Bearer ${'A'.repeat(4000)}`,
      `Bearer ${operation.security.includes('writerKey') ? world.busy.keys.app : world.busy.keys.writer}`,
    ]);
    const headers = plain.headers.filter(([name]) => name !== 'authorization');
    if (value !== undefined) headers.push(['authorization', value]);
    const isPathBad = /%(?![0-9a-f]{2})/i.test(plain.target) || /%(?:c0|ed|e4%bd)/i.test(plain.target);
    const wrong = ({ status }: RawAnswer) =>
      isPathBad || status === 401 || status === 429 || status === 404 ? undefined : `a bad key got ${status}`;
    return this.#shot('bad key', { ...plain, headers }, { wrong });
  }

  #oddMethod(): Shot {
    const [method, fate] = this.#random.pick(oddMethods);
    const plain = this.#requests.make(this.#requests.pick(), 'none', this.#mark());
    // What is no method must not write; what is one may be refused for its body.
    return this.#shot(`method ${method}`, { ...plain, method }, { fate });
  }

  #oddTarget(): Shot {
    const random = this.#random;
    const { target, headers } = this.#requests.make(this.#requests.pick(), 'none', this.#mark());
    const [about, change, fate] = random.pick(oddTargets);
    const changed = change(target, random);
    const method = random.pick(['GET', 'GET', 'HEAD', 'POST', 'PATCH', 'OPTIONS']);
    const path = changed.replace(/^https?:\/\/[^/?#]*/i, '') || '/';
    return this.#shot(`target ${about}`, { method, target: changed, headers: headers.slice(0, 1) }, { fate, path });
  }

  #oddHeader(): Shot {
    const random = this.#random;
    const plain = this.#requests.make(this.#requests.pick(), 'none', this.#mark());
    if (random.chance(0.1)) {
      const [version, fate] = random.pick(oddVersions);
      return this.#shot(`version ${version}`, { ...plain, version }, { fate });
    }
    const { about, lines, fate, replaces } = random.pick(oddHeaders);
    const shot = this.#shot(`header ${about}`, { ...plain, lines: lines(random), without: replaces }, { fate });
    return replaces === 'X-Request-Id' ? { ...shot, id: undefined } : shot;
  }

  #oddFraming(): Shot {
    const random = this.#random;
    const mark = this.#mark();
    const { busy } = this.#source.world;
    const headers: Header[] = [
      ['authorization', `Bearer ${busy.keys.knowledge}`],
      ['content-type', 'application/json'],
    ];
    const framing = random.pick(framings);
    const json = Buffer.from(JSON.stringify({ content: `${mark} framed` }));
    const body = framing.isCompressed ? gzipSync(json) : json;
    const framed = framing.frame(body);
    const plain = {
      method: 'PATCH',
      target: busy.chunkPath,
      headers: [...headers, ...framed.headers],
      body: framed.body,
    };
    return this.#shot(`framing ${framing.about}`, plain, { fate: framing.fate, mark });
  }

  /** A request whose answer nobody waits for. What a server hands over to whoever wrote it, it no longer watches. */
  left(): Shot {
    const make = this.#random.weighted<() => Shot>([
      [4, () => this.cut()],
      [4, () => this.any()],
      [2, () => this.#shot('CONNECT', { method: 'CONNECT', target: 'x:1', headers: [] }, { fate: 'refused' })],
    ]);
    return make();
  }

  /** The beginning of a request. */
  cut(): Shot {
    const shot = this.#random.chance(0.5) ? this.write() : this.known(false);
    const end = 1 + this.#random.below(shot.bytes.length - 1);
    const { wrong: _, isStored: __, ...rest } = shot;
    return {
      ...rest,
      about: `cut at ${end} of ${shot.bytes.length}`,
      bytes: shot.bytes.subarray(0, end),
      fate: 'ends',
    };
  }

  #mark(): string {
    return `mark-${this.#index}-${this.#count++}.`;
  }

  #shot(about: string, plain: Plain & { without?: string | undefined }, more: Partial<Shot>): Shot {
    const id = `r-${this.#index}-${this.#count++}`;
    const all: Header[] = [['Host', 'localhost'], ['X-Request-Id', id], ...plain.headers];
    const bytes = bytesOf({ ...plain, headers: all.filter(([name]) => name !== plain.without) });
    return { about, bytes, method: plain.method, path: plain.target, id, fate: 'answered', ...more };
  }
}
