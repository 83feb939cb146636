import type { Config } from '../config.ts';
import type { Content, Destination } from './destination.ts';
import { timeOfId } from './manifest.ts';
import { type S3Account, S3Error, type S3Patience, S3Requests } from './s3-requests.ts';

/** A service accepts parts from 5 MiB on, except the last one, all of one size, and at most 10,000 of them. */
const partBytesMin = 8_388_608;
const partsMax = 9_000;
const mebibyte = 1_048_576;

/** A store of backups in a bucket of a service that is compatible with S3. Memory: two parts. */
export class S3Destination implements Destination {
  readonly location: string;
  readonly #prefix: string;
  readonly #requests: S3Requests;

  constructor(url: string, config: Config, patience?: S3Patience) {
    const account = accountOf(url, config);
    this.location = account.location;
    this.#prefix = account.prefix;
    this.#requests = new S3Requests(account, patience);
  }

  async list(start: string): Promise<string[]> {
    const names: string[] = [];
    const prefix = this.#prefix + start;
    for (let token = ''; ; ) {
      const query = { 'list-type': '2', prefix, ...(token && { 'continuation-token': token }) };
      const { text } = await this.#requests.send({ method: 'GET', name: '', query });
      // A response that was cut off without a trace would lack manifests, and backups without one are removed.
      if (!text.trimEnd().endsWith('</ListBucketResult>'))
        throw new Error(`${this.location}: the list of objects is incomplete, or is none`);
      for (const name of valuesOf(text, 'Key')) names.push(name.slice(this.#prefix.length));
      const [next = ''] = valuesOf(text, 'NextContinuationToken');
      if (next === '' || next === token) return names;
      token = next;
    }
  }

  read(name: string): AsyncIterable<Uint8Array> {
    return this.#requests.read(this.#prefix + name);
  }

  /** Several parts become an object only when all of them are there. */
  async write(name: string, content: Content, bytesMax: number): Promise<void> {
    const object = this.#prefix + name;
    const partBytes = Math.max(partBytesMin, Math.ceil(bytesMax / partsMax / mebibyte) * mebibyte);
    const parts = inParts(content, partBytes);
    const { value: first, done } = await parts.next();
    if (done) throw new Error('there is always a part');
    if (first.byteLength < partBytes) {
      await this.#requests.send({ method: 'PUT', name: object, body: first });
      return;
    }
    const { text } = await this.#requests.send({ method: 'POST', name: object, query: { uploads: '' } });
    const [uploadId = ''] = valuesOf(text, 'UploadId');
    try {
      const etags = [await this.#writePart(object, uploadId, 1, first)];
      for await (const part of parts)
        if (part.byteLength > 0) etags.push(await this.#writePart(object, uploadId, etags.length + 1, part));
      await this.#complete(object, uploadId, etags);
    } catch (error) {
      // If this fails too, the next run removes the parts.
      await this.#abort(object, uploadId).catch(() => undefined);
      throw error;
    }
  }

  async remove(name: string): Promise<void> {
    await this.#requests
      .send({ method: 'DELETE', name: this.#prefix + name })
      .catch((error) => ignore(error, 'NoSuchKey'));
  }

  /** At most 1,000, far more than a run leaves. */
  async removeUnfinished(): Promise<void> {
    const query = { uploads: '', prefix: this.#prefix };
    const { text } = await this.#requests.send({ method: 'GET', name: '', query });
    const ids = valuesOf(text, 'UploadId');
    for (const [at, name] of valuesOf(text, 'Key').entries()) {
      // Others may use the bucket too.
      const [id = ''] = name.slice(this.#prefix.length).split('/');
      if (timeOfId(id) !== undefined) await this.#abort(name, ids[at] ?? '');
    }
  }

  async #writePart(name: string, uploadId: string, number: number, body: Uint8Array<ArrayBuffer>): Promise<string> {
    const query = { partNumber: `${number}`, uploadId };
    const { headers } = await this.#requests.send({ method: 'PUT', name, query, body });
    return headers.get('etag') ?? '';
  }

  async #complete(name: string, uploadId: string, etags: readonly string[]): Promise<void> {
    const parts = etags.map((etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${etag}</ETag></Part>`);
    const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
    const sent = this.#requests.send({ method: 'POST', name, query: { uploadId }, body });
    // It is gone because an attempt whose response was lost has completed it. If not, reading it back fails.
    await sent.catch((error) => ignore(error, 'NoSuchUpload'));
  }

  async #abort(name: string, uploadId: string): Promise<void> {
    const sent = this.#requests.send({ method: 'DELETE', name, query: { uploadId } });
    await sent.catch((error) => ignore(error, 'NoSuchUpload'));
  }
}

/** The address as AWS has it, or as other services do: the bucket in the path. Throws if the account is not set. */
function accountOf(url: string, config: Config): S3Account & { prefix: string } {
  const [, bucket = '', path = ''] = /^s3:\/\/([^/]+)\/?(.*?)\/?$/.exec(url) ?? [];
  const { aws_region: region, aws_access_key_id: keyId, aws_secret_access_key: secret } = config;
  if (keyId === undefined || secret === undefined)
    throw new Error(`${keyId === undefined ? 'AWS_ACCESS_KEY_ID' : 'AWS_SECRET_ACCESS_KEY'} must be set for ${url}`);
  // A certificate of AWS is for one level of names.
  const inPath = config.aws_endpoint_url_s3 !== undefined || bucket.includes('.');
  const service = config.aws_endpoint_url_s3?.replace(/\/+$/, '') ?? `https://s3.${region}.amazonaws.com`;
  return {
    base: inPath ? `${service}/${bucket}` : service.replace('https://', `https://${bucket}.`),
    location: `s3://${bucket}${path && `/${path}`}`,
    prefix: path && `${path}/`,
    ...{ region, keyId, secret, token: config.aws_session_token },
  };
}

/** Parts of this size, and a last one, which is smaller and may be empty. A part is overwritten by the next one. */
async function* inParts(content: Content, bytes: number): AsyncGenerator<Uint8Array<ArrayBuffer>, undefined> {
  const part = new Uint8Array(bytes);
  let filled = 0;
  for await (const chunk of content)
    for (let at = 0; at < chunk.byteLength; ) {
      const piece = chunk.subarray(at, at + bytes - filled);
      part.set(piece, filled);
      filled += piece.byteLength;
      at += piece.byteLength;
      if (filled < bytes) continue;
      yield part;
      filled = 0;
    }
  yield part.subarray(0, filled);
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function valuesOf(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, 'g'))].map(([, text = '']) =>
    text.replaceAll(/&(\w+);/g, (entity, named) => entities[named] ?? entity),
  );
}

function ignore(error: unknown, code: string): void {
  if (!(error instanceof S3Error) || error.code !== code) throw error;
}
