import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { asError } from '../domain/errors.ts';
import { textOf } from './destination.ts';

/** Signed requests to a service that is compatible with S3, sent again as long as that may help. */

export type S3Account = {
  /** The address of the bucket, without a slash at its end. */
  base: string;
  /** For messages: `s3://BUCKET/PREFIX`. */
  location: string;
  region: string;
  keyId: string;
  secret: string;
  token: string | undefined;
};

/**
 * `pauseMillis`: before the second attempt; doubled for each other. `quietMillis`: the longest time without a byte; a request
 * has as much more as the slowest network needs to send it.
 */
export type S3Patience = { attempts: number; pauseMillis: number; quietMillis: number; bytesPerMilli: number };
const defaultPatience: S3Patience = { attempts: 7, pauseMillis: 500, quietMillis: 60_000, bytesPerMilli: 50 };
/** Of the service: an operation that it does not have, and no space. */
const finalStatuses: ReadonlySet<number> = new Set([501, 507]);
/** A page of a list has at most 1,000 names. */
const textBytesMax = 8_388_608;

export type S3Request = {
  method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** The name of the object in the bucket, or empty. */
  name: string;
  query?: Record<string, string>;
  body?: Uint8Array<ArrayBuffer>;
  /** Begin after so many bytes of the version with this `etag`. */
  from?: { bytes: number; etag: string };
};

export class S3Error extends Error {
  /** Of the service, such as `NoSuchKey`; empty if there was no response. */
  readonly code: string;
  readonly isTemporary: boolean;

  constructor(message: string, code: string, isTemporary: boolean) {
    super(message);
    this.code = code;
    this.isTemporary = isTemporary;
  }
}

export class S3Requests {
  readonly #account: S3Account;
  readonly #patience: S3Patience;
  readonly #keys = new Map<string, ArrayBuffer>();
  /** Until the service has responded once, no response is a mistake in the settings, and a repetition does not help. */
  #hasResponded = false;

  constructor(account: S3Account, patience = defaultPatience) {
    this.#account = account;
    this.#patience = patience;
  }

  send(request: S3Request): Promise<{ text: string; headers: Headers }> {
    return this.#repeat(async () => {
      const { response, chunks } = await this.#open(request);
      const text = await textOf(chunks, textBytesMax);
      // Some operations find an error after they have begun to respond.
      if (/<Error>/.test(text)) throw this.#failure(request, response, text, true);
      return { text, headers: response.headers };
    });
  }

  /** Continues after the last byte if the connection breaks. */
  async *read(name: string): AsyncGenerator<Uint8Array> {
    const from = { bytes: 0, etag: '' };
    for (let failures = 0; ; ) {
      const request: S3Request = { method: 'GET', name, ...(from.bytes > 0 && { from }) };
      const { response, chunks } = await this.#repeat(() => this.#open(request));
      if (from.bytes > 0 && response.status !== 206)
        throw new S3Error(`${this.#about(request)}: the connection broke, and parts cannot be requested`, '', false);
      from.etag = response.headers.get('etag') ?? '';
      try {
        for await (const chunk of chunks) {
          from.bytes += chunk.byteLength;
          failures = 0;
          yield chunk;
        }
        return;
      } catch (error) {
        failures += 1;
        const canContinue = error instanceof S3Error && from.etag !== '' && failures < this.#patience.attempts;
        if (!canContinue) throw error;
      }
      await sleep(this.#patience.pauseMillis);
    }
  }

  async #repeat<T>(work: () => Promise<T>): Promise<T> {
    const { attempts, pauseMillis } = this.#patience;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        const helps = error instanceof S3Error && error.isTemporary && this.#hasResponded && attempt < attempts;
        if (!helps) throw error;
      }
      await sleep(pauseMillis * 2 ** (attempt - 1));
    }
  }

  async #open(request: S3Request) {
    const { method, body } = request;
    const abort = new AbortController();
    const { url, headers } = await this.#sign(request);
    const sending = fetch(url, {
      ...{ method, headers, signal: abort.signal },
      // A signature is for one address, and another one must not get it.
      redirect: 'manual',
      ...(body && { body }),
    });
    const extraMillis = (body?.byteLength ?? 0) / this.#patience.bytesPerMilli;
    const response = await this.#inTime(request, sending, abort, extraMillis);
    this.#hasResponded = true;
    const chunks = this.#chunks(request, response, abort);
    if (response.ok) return { response, chunks };
    throw this.#failure(request, response, await textOf(chunks, textBytesMax));
  }

  async #sign({ method, name, query = {}, body, from }: S3Request): Promise<{ url: URL; headers: Headers }> {
    const { base, region, keyId, secret, token } = this.#account;
    const pairs = Object.entries(query).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
    const signer = new AwsV4Signer({
      method,
      url: `${base}/${name}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`,
      headers: {
        // The service compares it with what it receives.
        'x-amz-content-sha256': createHash('sha256')
          .update(body ?? '')
          .digest('hex'),
        ...(from && { range: `bytes=${from.bytes}-`, 'if-match': from.etag }),
      },
      ...{ accessKeyId: keyId, secretAccessKey: secret, service: 's3', region, cache: this.#keys },
      ...(token !== undefined && { sessionToken: token }),
    });
    return signer.sign();
  }

  async *#chunks(request: S3Request, response: Response, abort: AbortController): AsyncGenerator<Uint8Array> {
    const chunks = response.body?.[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = chunks && (await this.#inTime(request, chunks.next(), abort));
        if (next === undefined || next.done) return;
        yield next.value;
      }
    } finally {
      // If the reader does not want the rest, the connection ends.
      abort.abort();
    }
  }

  async #inTime<T>(request: S3Request, work: Promise<T>, abort: AbortController, extraMillis = 0): Promise<T> {
    const millis = this.#patience.quietMillis + extraMillis;
    const timer = setTimeout(() => abort.abort(new Error(`no response for ${Math.round(millis / 1000)} s`)), millis);
    try {
      return await work;
    } catch (error) {
      const { message, cause } = asError(error);
      const { message: reason = message, code = '' } = (cause ?? {}) as Partial<NodeJS.ErrnoException>;
      throw new S3Error(`${this.#about(request)}: no complete response: ${reason || code}`, '', true);
    } finally {
      clearTimeout(timer);
    }
  }

  #failure(request: S3Request, { status, headers }: Response, text: string, isTemporary = false): S3Error {
    // Not the message: it can repeat what it was sent.
    const [, code = ''] = /<Code>(\w{1,64})<\/Code>/.exec(text) ?? [];
    const [region] = /^[\w-]{1,32}$/.exec(headers.get('x-amz-bucket-region') ?? '') ?? [];
    const isRedirect = status >= 300 && status < 400;
    const hint = isRedirect && region ? `: the bucket is in the region ${region}, see AWS_REGION` : '';
    const isFinal = status < 500 || finalStatuses.has(status);
    const again = isTemporary || !isFinal || status === 429 || status === 408 || code === 'RequestTimeout';
    return new S3Error(`${this.#about(request)}: ${`${status} ${code}`.trim()}${hint}`, code, again);
  }

  #about({ method, name }: S3Request): string {
    const { location, base } = this.#account;
    return `${location} (${new URL(base).host}): ${method} ${name || 'the list'}`;
  }
}
