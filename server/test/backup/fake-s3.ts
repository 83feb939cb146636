import { createHash, createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Scope } from '../support/cli-helpers.ts';

/**
 * A service that is compatible with S3, with the rules that clients break: it computes each signature by the specification,
 * compares the digest of each body, the sizes of parts and their ETags. It fails as a test wants.
 */

export const bucket = 'bucket';
export const account = { keyId: 'AKIAIOSFODNN7EXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' };

type Signed = { method: string; url: string; headers: Record<string, string>; payload: string };
const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

/** https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
export function signatureOf({ method, url, headers, payload }: Signed, names: string[], region: string): string {
  const [path = '', query = ''] = url.split('?');
  const pairs = (query === '' ? [] : query.split('&')).map((pair) => {
    const [key = '', value = ''] = pair.split('=').map((part) => encode(decodeURIComponent(part)));
    return `${key}=${value}`;
  });
  const canonical = [
    method,
    path
      .split('/')
      .map((part) => encode(decodeURIComponent(part)))
      .join('/'),
    pairs.sort().join('&'),
    ...names.map((name) => `${name}:${headers[name]?.trim().replaceAll(/ +/g, ' ')}`),
    '',
    names.join(';'),
    payload,
  ].join('\n');
  const at = headers['x-amz-date'] ?? '';
  const scope = `${at.slice(0, 8)}/${region}/s3/aws4_request`;
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${account.secret}`);
  return hmac(key, ['AWS4-HMAC-SHA256', at, scope, sha256(canonical)].join('\n')).toString('hex');
}

/** Undefined if it is correct. */
function problemOf(request: Signed & { body: Buffer }, region: string): string | undefined {
  const { headers, payload, body } = request;
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)$/;
  const [, keyId, day, signedRegion, list = '', signature] = form.exec(headers.authorization ?? '') ?? [];
  if (keyId === undefined) return 'AccessDenied';
  if (keyId !== account.keyId) return 'InvalidAccessKeyId';
  const [year, rest] = [headers['x-amz-date']?.slice(0, 4), headers['x-amz-date']?.slice(4) ?? ''];
  const time = Date.parse(`${year}-${rest.replace(/(..)(..T..)(..)(..Z)/, '$1-$2:$3:$4')}`);
  if (!(Math.abs(Date.now() - time) < 900_000)) return 'RequestTimeTooSkewed';
  if (signedRegion !== region || day !== headers['x-amz-date']?.slice(0, 8)) return 'AuthorizationHeaderMalformed';
  const names = list.split(';');
  const needed = ['host', ...Object.keys(headers).filter((name) => name.startsWith('x-amz-'))];
  if (!needed.every((name) => names.includes(name))) return 'AccessDenied';
  if (signature !== signatureOf(request, names, region)) return 'SignatureDoesNotMatch';
  return payload === sha256(body) ? undefined : 'XAmzContentSHA256Mismatch';
}

/** `operation`: such as `PUT` or `POST uploads`. `count`: how many there were of it. */
export type Asked = { operation: string; name: string; count: number };
/** `cut`: the connection ends in the middle. `late`: after the work is done. `silent`: no response. `other`: a wrong byte. `short`: half of it, as if that were all. */
export type Fault = { status: number; code: string; headers?: object } | 'cut' | 'late' | 'silent' | 'other' | 'short';

const statuses: Readonly<Record<string, number>> = { NoSuchKey: 404, NoSuchBucket: 404, NoSuchUpload: 404 };
const partBytesMin = 5_242_880;
const pageSize = 3;

export class FakeS3 {
  readonly objects = new Map<string, Buffer>();
  readonly uploads = new Map<string, { name: string; parts: Map<number, Buffer> }>();
  /** Operations in their order. */
  readonly asked: string[] = [];
  fault: (asked: Asked) => Fault | undefined = () => undefined;
  region = 'us-east-1';
  base = '';

  static async start(scope: Scope): Promise<FakeS3> {
    const s3 = new FakeS3();
    const server = createServer(
      (request, response) => void s3.#serve(request, response).catch(() => response.destroy()),
    );
    await once(server.listen(0, '127.0.0.1'), 'listening');
    s3.base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    scope.after(async () => {
      server.closeAllConnections();
      server.close();
    });
    return s3;
  }

  /** Settings of the command. */
  env(prefix = 'backups'): Record<string, string> {
    return {
      BACKUP_URL: `s3://${bucket}/${prefix}`,
      AWS_ENDPOINT_URL_S3: this.base,
      AWS_ACCESS_KEY_ID: account.keyId,
      AWS_SECRET_ACCESS_KEY: account.secret,
    };
  }

  names(): string[] {
    return [...this.objects.keys()].sort();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const { method = '', url = '' } = request;
    const headers = request.headers as Record<string, string>;
    const { pathname, searchParams: query } = new URL(url, this.base);
    const [, inBucket = '', name = ''] = /^\/([^/]*)\/?(.*)$/.exec(decodeURIComponent(pathname)) ?? [];
    const kind = ['uploads', 'partNumber', 'uploadId', 'list-type'].find((one) => query.has(one));
    const operation = [method, kind].filter(Boolean).join(' ');
    this.asked.push(operation);
    const count = this.asked.filter((one) => one === operation).length;
    const fault = this.fault({ operation, name, count });
    if (fault === 'silent') return;
    if (fault === 'cut' && method !== 'GET') return void response.destroy();
    if (typeof fault === 'object') return refuse(response, fault.code, fault.status, fault.headers);
    const payload = headers['x-amz-content-sha256'] ?? '';
    const problem = problemOf({ method, url, headers, payload, body }, this.region);
    if (problem !== undefined) return refuse(response, problem, 403);
    if (inBucket !== bucket) return refuse(response, 'NoSuchBucket', 404);
    const done = this.#handle(operation, name, query, body);
    if (typeof done === 'string') return refuse(response, done, statuses[done] ?? 400);
    if (fault === 'late') return void response.destroy();
    const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0);
    if (from > 0 && headers['if-match'] !== done.etag) return refuse(response, 'PreconditionFailed', 412);
    const end = fault === 'short' ? done.content.byteLength / 2 : undefined;
    const content = Buffer.from(done.content.subarray(from, end));
    if (fault === 'other') content[0] = (content[0] ?? 0) ^ 1;
    response.writeHead(from > 0 ? 206 : method === 'DELETE' ? 204 : 200, {
      etag: done.etag,
      ...(method !== 'DELETE' && { 'content-length': content.byteLength }),
    });
    if (fault !== 'cut') return void response.end(content);
    response.write(content.subarray(0, content.byteLength / 2), () => response.destroy());
  }

  /** The code of an error, or the response. */
  #handle(
    operation: string,
    name: string,
    query: URLSearchParams,
    body: Buffer,
  ): string | { content: Buffer; etag: string } {
    const upload = this.uploads.get(query.get('uploadId') ?? '');
    const isOfUpload = operation.endsWith('partNumber') || operation.endsWith('uploadId');
    if (isOfUpload && upload?.name !== name) return 'NoSuchUpload';
    const found = this.objects.get(name);
    const xml = (text: string) => ({ content: Buffer.from(`<?xml version="1.0"?>${text}`), etag: '' });
    if (operation === 'GET') return found === undefined ? 'NoSuchKey' : { content: found, etag: etagOf(found) };
    if (operation === 'GET list-type') return xml(this.#list(query));
    if (operation === 'GET uploads') {
      const uploads = [...this.uploads].filter(([, one]) => one.name.startsWith(query.get('prefix') ?? ''));
      return xml(
        uploads.map(([id, one]) => `<Upload><Key>${one.name}</Key><UploadId>${id}</UploadId></Upload>`).join(''),
      );
    }
    if (operation === 'PUT') this.objects.set(name, body);
    if (operation === 'DELETE') this.objects.delete(name);
    if (operation === 'DELETE uploadId') this.uploads.delete(query.get('uploadId') ?? '');
    if (operation === 'POST uploads') {
      const id = `${randomUUID()}+/=`;
      this.uploads.set(id, { name, parts: new Map() });
      return xml(`<UploadId>${id}</UploadId>`);
    }
    if (operation === 'PUT partNumber') upload?.parts.set(Number(query.get('partNumber')), body);
    if (operation === 'POST uploadId')
      return this.#complete(query.get('uploadId') ?? '', `${body}`) ?? xml('<ETag>e</ETag>');
    return { content: Buffer.alloc(0), etag: etagOf(body) };
  }

  #list(query: URLSearchParams): string {
    const names = this.names().filter((name) => name.startsWith(query.get('prefix') ?? ''));
    const from = Number(Buffer.from(query.get('continuation-token') ?? '', 'base64').toString() || 0);
    const contents = names.slice(from, from + pageSize).map((name) => `<Contents><Key>${name}</Key></Contents>`);
    const token = Buffer.from(`${from + pageSize}`).toString('base64');
    const next = names.length > from + pageSize ? `<NextContinuationToken>${token}</NextContinuationToken>` : '';
    return `<ListBucketResult>${contents.join('')}${next}</ListBucketResult>`;
  }

  #complete(id: string, body: string): string | undefined {
    const { name = '', parts = new Map<number, Buffer>() } = this.uploads.get(id) ?? {};
    const listed = [...body.matchAll(/<Part><PartNumber>(\d+)<\/PartNumber><ETag>([^<]+)<\/ETag><\/Part>/g)];
    const contents = listed.map(([, number]) => parts.get(Number(number)) ?? Buffer.alloc(0));
    if (listed.some(([, number], at) => Number(number) !== at + 1)) return 'InvalidPartOrder';
    if (listed.some(([, , etag], at) => etag !== etagOf(contents[at] ?? Buffer.alloc(0)))) return 'InvalidPart';
    const [first, last] = [contents[0], contents.at(-1)];
    if (contents.some((one) => one !== last && (one.length < partBytesMin || one.length !== first?.length)))
      return 'EntityTooSmall';
    this.objects.set(name, Buffer.concat(contents));
    this.uploads.delete(id);
    return undefined;
  }
}

const etagOf = (content: Uint8Array): string => `"${createHash('md5').update(content).digest('hex')}"`;

/** With the secret in the message, as no service should have it: a client must not show it. */
function refuse(response: ServerResponse, code: string, status: number, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/xml', ...headers });
  response.end(`<Error><Code>${code}</Code><Message>${account.secret} is not allowed</Message></Error>`);
}
