import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { S3Destination } from '../../src/backup/s3.ts';
import { readConfig } from '../../src/config.ts';
import { freePort } from '../support/cli-helpers.ts';
import { message, ndjson } from '../support/harness.ts';
import { firstOrAll } from '../support/long.ts';
import { newDatabase, text } from './backup-fixture.ts';
import { type Asked, account, bucket, FakeS3, type Fault, signatureOf } from './fake-s3.ts';

const empty = createHash('sha256').digest('hex');
const host = 'examplebucket.s3.amazonaws.com';

it('the service of these tests computes the published examples of signatures', () => {
  const sign = (url: string, headers: object, signed: string, method = 'GET', payload = empty) => {
    const all = { host, 'x-amz-date': '20130524T000000Z', 'x-amz-content-sha256': payload, ...headers };
    return signatureOf({ method, url, headers: all, payload }, signed.split(';'), 'us-east-1');
  };
  const names = 'host;x-amz-content-sha256;x-amz-date';
  assert.equal(
    sign('/test.txt', { range: 'bytes=0-9' }, 'host;range;x-amz-content-sha256;x-amz-date'),
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  );
  assert.equal(sign('/?lifecycle', {}, names), 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543');
  assert.equal(
    sign('/?max-keys=2&prefix=J', {}, names),
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  );
  const put = { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' };
  assert.equal(
    sign(
      '/test%24file.text',
      put,
      `date;${names};x-amz-storage-class`,
      'PUT',
      '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
    ),
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  );
});

/** A destination that does not wait long. */
async function newDestination(t: TestContext, patience = {}) {
  const s3 = await FakeS3.start(t);
  const { BACKUP_URL, ...env } = s3.env();
  const all = { attempts: 3, pauseMillis: 1, quietMillis: 60_000, bytesPerMilli: 1_000_000, ...patience };
  const destination = new S3Destination(BACKUP_URL ?? '', readConfig(env), all);
  const write = (name: string, bytes: Uint8Array) => destination.write(name, piecesOf(bytes), bytes.byteLength);
  const read = (name: string) => buffer(destination.read(name));
  return { s3, destination, write, read };
}

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += 1_000_003) yield bytes.subarray(at, at + 1_000_003);
}

const id = '20260101T000000Z-00000000';
const mebibyte = 1_048_576;
/** The operation that fails, and the first times that it does. */
const firstTimes =
  (operation: string, fault: Fault, times = 1) =>
  (asked: Asked) =>
    asked.operation === operation && asked.count <= times ? fault : undefined;
const busy: Fault = { status: 503, code: 'SlowDown' };

describe('a store of backups in a bucket', { concurrency: 2 }, () => {
  it('gets a large object in parts, and a small or empty one at once', async (t) => {
    const { s3, destination, write, read } = await newDestination(t);
    for (const bytes of [0, 1, 8 * mebibyte - 1, 8 * mebibyte, 16 * mebibyte + 5]) {
      const content = randomBytes(bytes);
      s3.asked.length = 0;
      await write(`${id}/data.zst`, content);
      const parts = s3.asked.filter((one) => one === 'PUT partNumber').length;
      assert.equal(parts, bytes < 8 * mebibyte ? 0 : Math.ceil(bytes / 8 / mebibyte), `${bytes} bytes`);
      assert.ok(s3.objects.get(`backups/${id}/data.zst`)?.equals(content));
      assert.ok((await read(`${id}/data.zst`)).equals(content));
    }
    assert.equal(s3.uploads.size, 0);
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) await write(`erased/${name}`, Buffer.from(name));
    assert.deepEqual(
      await destination.list('erased/'),
      [...'abcdefg'].map((name) => `erased/${name}`),
    );
    await destination.remove('erased/a');
    await destination.remove('erased/a');
    assert.equal((await destination.list('')).length, 7);
  });

  it('removes what interrupted uploads have left, and nothing of others', async (t) => {
    const { s3, destination } = await newDestination(t);
    for (const name of [`backups/${id}/data.zst`, 'backups/film.mp4', 'other/film.mp4'])
      s3.uploads.set(name, { name, parts: new Map() });
    await destination.removeUnfinished();
    assert.deepEqual([...s3.uploads.keys()], ['backups/film.mp4', 'other/film.mp4']);
  });

  it('takes no part of a list for all of it, and no other page for a list', async (t) => {
    const { s3, destination, write } = await newDestination(t);
    for (const name of ['data.zst', 'manifest.json']) await write(`${id}/${name}`, Buffer.from('{}'));
    for (const fault of ['short', { status: 200, code: 'x' }] as const) {
      s3.fault = firstTimes('GET list-type', fault, 100);
      await assert.rejects(destination.list(''), /is incomplete, or is none$|200 x$/);
    }
  });

  it('repeats what failed for a moment', async (t) => {
    const faults: [operation: string, fault: Fault][] = [
      ['POST uploads', busy],
      ['PUT partNumber', busy],
      ['PUT partNumber', { status: 500, code: 'InternalError' }],
      ['PUT partNumber', 'cut'],
      ['PUT partNumber', 'late'],
      ['POST uploadId', busy],
      ['POST uploadId', { status: 200, code: 'InternalError' }],
      ['POST uploadId', 'late'],
      ['GET', busy],
      ['GET', 'cut'],
      ['GET list-type', busy],
      ['GET list-type', 'cut'],
      ['DELETE', 'late'],
    ];
    for (const [operation, fault] of faults) {
      const { s3, destination, write, read } = await newDestination(t);
      const isOfPart = operation.includes('upload') || operation.includes('part');
      const content = randomBytes(isOfPart ? 9 * mebibyte : 100_000);
      await destination.list('');
      s3.asked.length = 0;
      s3.fault = firstTimes(operation, fault, 2);
      const name = `${id}/data.zst`;
      await write(name, content);
      assert.ok((await read(name)).equals(content), `${operation} ${fault}`);
      assert.deepEqual(await destination.list(''), [name]);
      await destination.remove(name);
      assert.deepEqual(s3.names(), []);
      assert.ok(s3.asked.filter((one) => one === operation).length > 2 || operation === 'POST uploadId');
    }
  });

  it('fails with one line that has no secret, and leaves nothing, when that does not help', async (t) => {
    const content = randomBytes(9 * mebibyte);
    const faults: [operation: string, fault: Fault, expected: RegExp][] = [
      ['PUT partNumber', busy, /PUT .*data\.zst: 503 SlowDown$/],
      ['PUT partNumber', 'cut', /PUT .*data\.zst: no complete response: /],
      ['PUT partNumber', 'silent', /PUT .*data\.zst: no complete response: no response for \d+ s$/],
      ['PUT partNumber', { status: 400, code: 'BadDigest' }, /400 BadDigest$/],
      ['PUT partNumber', { status: 507, code: 'InsufficientStorage' }, /507 InsufficientStorage$/],
      ['POST uploadId', { status: 200, code: 'InternalError' }, /200 InternalError$/],
      ['POST uploads', { status: 403, code: 'AccessDenied' }, /403 AccessDenied$/],
    ];
    for (const [operation, fault, expected] of faults) {
      const { s3, destination, write } = await newDestination(
        t,
        fault === 'silent' ? { quietMillis: 3_000, attempts: 1 } : {},
      );
      await destination.list('');
      s3.fault = firstTimes(operation, fault, 100);
      const error = await write(`${id}/data.zst`, content).then(
        () => assert.fail(),
        (thrown: Error) => thrown,
      );
      assert.match(error.message, expected);
      assert.match(error.message, /^s3:\/\/bucket\/backups \(127\.0\.0\.1:\d+\): /);
      assert.doesNotMatch(error.message, /wJalr|\n/);
      assert.deepEqual([s3.names(), s3.uploads.size], [[], 0]);
    }
  });

  it('continues a download after the last byte, unless the object has changed', async (t) => {
    const { s3, write, read } = await newDestination(t);
    const content = randomBytes(3 * mebibyte);
    await write('a', content);
    s3.fault = firstTimes('GET', 'cut', 6);
    assert.ok((await read('a')).equals(content));
    s3.asked.length = 0;
    s3.fault = (asked) => {
      if (asked.operation === 'GET' && asked.count === 1) return 'cut';
      s3.objects.set('backups/a', randomBytes(3 * mebibyte));
      return undefined;
    };
    await assert.rejects(read('a'), /412 PreconditionFailed/);
  });
});

describe('the command, with a store of backups in a bucket', { concurrency: 2 }, () => {
  it('backs up, lists, restores, keeps and erases as with a folder', async (t) => {
    const { one, conversation, succeed, exported } = await newDatabase(t);
    const s3 = await FakeS3.start(t);
    const env = s3.env();
    const large = [1, 2, 3, 4].map((at) =>
      message(one.ids.conversation, at, { answer: randomBytes(2_400_000).toString('base64') }),
    );
    await succeed(['import', '-'], {}, ndjson(large));
    assert.match(await succeed(['backup'], env), / to s3:\/\/bucket\/backups\/\d{8}T\d{6}Z-[0-9a-f]{8} in /);
    assert.ok(s3.asked.includes('PUT partNumber'));
    const before = await exported();
    await succeed(['restore'], { ...env, DATABASE_URL: 'sqlite:restored.db' });
    assert.equal(await exported('restored.db'), before);

    // Its name has the time, and erasures are applied to what is older.
    for (const [name, content] of [...s3.objects]) {
      s3.objects.delete(name);
      s3.objects.set(name.replace(/\d{8}T\d{6}Z-/, '20260101T000000Z-'), content);
    }
    await succeed(['purge', '--conversation', conversation.id, '--yes']);
    await succeed(['backup'], env);
    const list = (await succeed(['backup', 'list', env.BACKUP_URL ?? ''], env)).split('\n');
    assert.deepEqual([list.length, list[0]?.slice(0, 16)], [3, '20260101T000000Z']);
    const said = await succeed(['restore', '--at', '2026-01-01'], { ...env, DATABASE_URL: 'sqlite:old.db' });
    assert.match(said, /erased again: 1 conversation/);
    assert.doesNotMatch(await exported('old.db'), new RegExp(text));
    await succeed(['backup'], { ...env, BACKUP_KEEP: '1' });
    const folders = new Set(s3.names().map((name) => name.split('/')[1]));
    assert.deepEqual([folders.size, folders.has('erased')], [2, true]);
  });

  it('keeps the last good backup when the next one is not read back as it was stored', async (t) => {
    const { succeed, fail } = await newDatabase(t);
    const s3 = await FakeS3.start(t);
    const env = { ...s3.env(), BACKUP_KEEP: '1' };
    await succeed(['backup'], env);
    const good = s3.names();
    const isData = ({ operation, name }: Asked) => operation === 'GET' && name.endsWith('data.zst');
    s3.fault = (asked) => (isData(asked) ? 'other' : undefined);
    await fail(/the data of backup .* is damaged: its digest differs/, ['backup'], env);
    assert.deepEqual(s3.names(), good);
    s3.fault = ({ operation, name }) =>
      operation === 'PUT' && name.endsWith('manifest.json') ? { status: 403, code: 'QuotaExceeded' } : undefined;
    await fail(/403 QuotaExceeded/, ['backup'], env);
    assert.deepEqual(s3.names(), good);
    s3.fault = () => undefined;
    await succeed(['backup'], env);
    assert.equal(s3.names().length, good.length);
    assert.notDeepEqual(s3.names(), good);
  });

  it('says in one line what is wrong with the store or the settings', async (t) => {
    const { fail } = await newDatabase(t);
    const s3 = await FakeS3.start(t);
    const env = s3.env();
    const secrets = new RegExp(`${account.secret}|wJalr|thetoken`);
    const commands = [['backup'], ['backup', 'list'], ['restore']];
    // All commands open the store by the same function.
    const refused = async (expected: RegExp, changes: Record<string, string>, tried = firstOrAll(commands)) => {
      for (const args of tried) {
        const given = { ...env, ...(args[0] === 'restore' && { DATABASE_URL: 'sqlite:x.db' }), ...changes };
        assert.doesNotMatch(await fail(expected, args, given), secrets);
      }
    };
    await refused(/s3:\/\/other \(.*: 404 NoSuchBucket/, { BACKUP_URL: 's3://other' }, commands);
    await refused(/403 InvalidAccessKeyId/, { AWS_ACCESS_KEY_ID: 'AKIAOTHER' });
    await refused(/403 SignatureDoesNotMatch/, { AWS_SECRET_ACCESS_KEY: 'wJalrOther' });
    await refused(/403 AuthorizationHeaderMalformed/, { AWS_REGION: 'eu-west-1' });
    await refused(/no complete response: .*ECONNREFUSED/, {
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${await freePort()}`,
    });
    await refused(/^AWS_ACCESS_KEY_ID must be set for s3:\/\/bucket\/backups$/m, { AWS_ACCESS_KEY_ID: '' });
    await refused(/^AWS_SECRET_ACCESS_KEY must be set/m, { AWS_SECRET_ACCESS_KEY: '' });
    await refused(/AWS_ENDPOINT_URL_S3=http:\/\/…@127.0.0.1: must be/, {
      AWS_ENDPOINT_URL_S3: 'http://k:wJalr@127.0.0.1',
    });
    await refused(/BACKUP_URL=s3:\/\/…@bucket\/x: must be s3:\/\/BUCKET/, { BACKUP_URL: 's3://k:wJalr@bucket/x' });
    await refused(/AWS_SESSION_TOKEN=…: must be visible ASCII/, { AWS_SESSION_TOKEN: 'thetoken\n' });
    await refused(/AWS_SECRET_ACCESS_KEY_FILE=none: .*no such file/, {
      AWS_SECRET_ACCESS_KEY: '',
      AWS_SECRET_ACCESS_KEY_FILE: 'none',
    });
    await fail(/^s3:\/\/…@bucket: must be s3:\/\/BUCKET/, ['backup', 's3://k:wJalr@bucket'], env);
    s3.fault = () => ({
      status: 301,
      code: 'PermanentRedirect',
      headers: { 'x-amz-bucket-region': 'eu-north-1', location: s3.base },
    });
    await refused(/301 PermanentRedirect: the bucket is in the region eu-north-1, see AWS_REGION/, {});
    s3.fault = () => ({ status: 307, code: '', headers: { location: `${s3.base}/elsewhere` } });
    await refused(/: 307$/m, {});
    assert.ok(
      s3.asked.every((one) => one.startsWith('GET')),
      'a redirect is not followed',
    );
    assert.deepEqual(s3.names(), []);
  });

  it('gets the account from files, with a temporary key', async (t) => {
    const { cwd, succeed } = await newDatabase(t);
    const s3 = await FakeS3.start(t);
    const { AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '', ...env } = s3.env();
    await writeFile(join(cwd, 'id'), `${AWS_ACCESS_KEY_ID}\n`);
    await writeFile(join(cwd, 'secret'), `${AWS_SECRET_ACCESS_KEY}\n`);
    await writeFile(join(cwd, 'token'), 'thetoken');
    const files = {
      AWS_ACCESS_KEY_ID_FILE: 'id',
      AWS_SECRET_ACCESS_KEY_FILE: 'secret',
      AWS_SESSION_TOKEN_FILE: 'token',
    };
    await succeed(['backup'], { ...env, ...files, BACKUP_URL: `s3://${bucket}` });
    assert.match(s3.names()[0] ?? '', /^\d{8}T\d{6}Z-[0-9a-f]{8}\/data\.zst$/);
  });
});
