import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { difyId, ids, tokens } from '../support/dify-database.ts';
import { itOnOneEngine, onEveryEngine } from '../support/harness.ts';
import { firstOrAll } from '../support/long.ts';
import { FakeDify, json } from './fake-dify.ts';
import { exchange, headersOf } from './scripted-upstream.ts';

/** They begin with zeros, so that `0x` and underscores can be in their place. */
const [erased, erasedMessage] = [difyId(140), difyId(141)].map((id) => `0000${id.slice(4)}`) as [string, string];
const percent = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
const digits = (id: string) => id.replaceAll('-', '');

/** Python's `UUID` takes each of them as the same one. */
const spellings: Record<string, (id: string) => string> = {
  'as it is': (id) => id,
  'without hyphens': digits,
  'with a hyphen after each digit': (id) => [...digits(id)].join('-'),
  'in braces': (id) => `{${id}}`,
  'with a brace and a hyphen at one end': (id) => `${digits(id)}-}`,
  'as a URN': (id) => `urn:uuid:${id}`,
  'with the prefixes inside each other': (id) => `uuurn:id:${digits(id)}`,
  'in upper case': (id) => id.toUpperCase(),
  'in mixed case': (id) => id.replace(/[a-f]/, (letter) => letter.toUpperCase()),
  'with 0x': (id) => `0x${digits(id).slice(2)}`,
  'with underscores': (id) => digits(id).replace(/^0000/, '0_0_'),
  'with a sign': (id) => `+${digits(id).slice(1)}`,
  'with spaces': (id) => `\u3000${digits(id).slice(2)}\t`,
  'with spaces around it': (id) => ` ${id} `,
  'with spaces of a form around it': (id) => `+${id}+`,
  'with digits of another script': (id) => id.replace(/\d/g, (digit) => String.fromCharCode(0x0660 + Number(digit))),
  'with wide digits': (id) => id.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit))),
  'with bold digits': (id) => id.replace(/\d/g, (digit) => String.fromCodePoint(0x1d7ce + Number(digit))),
};
const encodings: ((text: string) => string)[] = [percent, encodeURIComponent, (text) => percent(percent(text))];
const paths: ((id: string) => string)[] = [
  (id) => `/v1/conversations/${id}`,
  (id) => `/v1/conversations/${id}/variables`,
  (id) => `/v1/conversations/x%2f${id}%5cy`,
  (id) => `/v1/unknown/${id};x=1`,
  (id) => `/v1/messages?conversation_id=${id}`,
  (id) => `/v1/messages?conversation_id=${ids.conversation}&conversation_id=${id}#x`,
  (id) => `/v1/messages?conversation%5Fid=${id}`,
  (id) => `/v1/conversations?last_id=${id}&user=x`,
  (id) => `/v1/parameters?x=${id}`,
  (id) => `/v1/chat-messages?conversation_id=${id}`,
];
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'];

onEveryEngine('what was erased here, in front of a Dify installation', (engine) => {
  async function begin(t: Parameters<typeof FakeDify.start>[0]) {
    const dify = await FakeDify.start(t, engine);
    await dify.database.insert('conversations', { id: erased, app_id: ids.app, from_end_user_id: ids.user });
    await dify.message(difyId(142), erased);
    await dify.message(erasedMessage, ids.conversation);
    const service = await dify.serveCopied();
    const key = { record: 'api_key', kind: 'app', name: 'k', workspace_id: ids.workspace, app_id: ids.app };
    const [readOnly, ended] = [`app-${'o'.repeat(43)}`, `app-${'e'.repeat(43)}`];
    await service.load([
      { ...key, id: randomUUID(), secret: readOnly, read_only: true },
      { ...key, id: randomUUID(), secret: ended, revoked_at: 1 },
    ]);
    const eraser = { action: 'purge', key_id: null, now: Math.floor(Date.now() / 1000) } as const;
    await service.store.erasure.erase({ conversation_id: erased }, eraser);
    const location = { app_id: ids.app, conversation_id: ids.conversation, message_id: erasedMessage };
    assert.equal(await service.store.run('deleteMessage', { location, eraser }), 'deleted');
    dify.upstream.script = (socket) => json(socket, { from: 'Dify' });
    const keys = {
      active: tokens.app,
      knowledge: tokens.dataset,
      readOnly,
      ended,
      unknown: 'app-new',
      none: undefined,
    };
    const status = async (method: string, path: string, secret: string | undefined, connection = 'keep-alive') => {
      const headers = { connection, ...(secret !== undefined && { authorization: `Bearer ${secret}` }) };
      return (await exchange(service.base, method, path, { headers })).status;
    };
    return { dify, service, keys, status };
  }

  itOnOneEngine(engine, 'never comes from it, however its id is spelled, with any method and key', async (t) => {
    const { dify, service, keys, status } = await begin(t);
    service.freezeClock();
    const failures: string[] = [];
    let nth = 0;
    for (const [name, spell] of Object.entries(spellings)) {
      for (const path of paths) {
        // At most as many requests as a minute may have with keys that are not valid.
        service.advanceClock(60);
        for (const method of methods) {
          const kinds = Object.entries(keys);
          const rotated = [...kinds.slice(nth % kinds.length), ...kinds.slice(0, nth % kinds.length)];
          for (const [kind, secret] of firstOrAll(rotated)) {
            nth += 1;
            const encode = encodings[nth % encodings.length] ?? assert.fail();
            const id = /^[\w-]+$/.test(spell(erased)) && nth % 2 === 0 ? spell(erased) : encode(spell(erased));
            const url = path(id);
            const received = await status(method, url, secret, nth % 2 === 0 ? 'keep-alive' : 'Keep-Alive');
            // A key may be of the wrong kind for a route, or ended, or read-only.
            const expected = secret === undefined || kind === 'unknown' ? [404] : [400, 401, 403, 404];
            if (!expected.includes(received)) failures.push(`${method} ${url} (${name}), key: ${kind}: ${received}`);
          }
        }
      }
    }
    assert.deepEqual(failures.slice(0, 20), [], `${failures.length} of ${nth} failed`);
    assert.deepEqual(dify.upstream.requests, []);
  });

  it('is a message, too, if its conversation is named', async (t) => {
    const { dify, keys, status } = await begin(t);
    for (const spell of Object.values(spellings)) {
      const page = `/v1/messages?conversation_id=${ids.conversation}&first_id=${percent(spell(erasedMessage))}`;
      for (const method of ['GET', 'POST']) assert.equal(await status(method, page, keys.unknown), 404, page);
      assert.equal(await status('GET', page, keys.active), 404, page);
    }
    assert.deepEqual(dify.upstream.requests, []);
  });

  itOnOneEngine(engine, 'does not hide what was not erased', async (t) => {
    const { dify, keys, status } = await begin(t);
    const other = difyId(143);
    const texts = [...Object.values(spellings).map((spell) => spell(other)), '', 'x'.repeat(32), '%', '%ff', '0'];
    for (const text of texts) {
      const url = `/v1/unknown?conversation_id=${text.length > 2 ? percent(text) : text}`;
      for (const method of ['GET', 'DELETE']) assert.equal(await status(method, url, keys.active), 200, url);
    }
    assert.equal(dify.upstream.requests.length, texts.length * 2);
  });
});

describe('headers of Backscroll, in requests that Dify gets', () => {
  it('never come from a client, however they are spelled and whatever the key is', async (t) => {
    const dify = await FakeDify.start(t, 'sqlite');
    const service = await dify.serveCopied();
    dify.upstream.script = (socket) => json(socket, { from: 'Dify' });
    const names = ['X-Backscroll-Key-Id', 'x_backscroll_app_id', 'X-BACKSCROLL_Workspace-Id', 'X_Backscroll-New'];
    const connections = ['close', 'x-backscroll-key-id', 'X_Backscroll_App_Id, authorization'];
    for (const secret of [tokens.app, tokens.dataset, 'app-new', undefined]) {
      for (const connection of connections) {
        const own = Object.fromEntries(names.map((name) => [name, 'of the client']));
        const headers = { ...own, connection, ...(secret !== undefined && { authorization: `Bearer ${secret}` }) };
        const { status } = await exchange(service.base, 'GET', '/v1/unknown', { headers });
        assert.equal(status, 200);
        const received = headersOf(dify.upstream.requests.at(-1) ?? assert.fail());
        assert.deepEqual(
          Object.keys(received).filter((name) => /backscroll/i.test(name)),
          [],
        );
        assert.equal(received.authorization, headers.authorization);
      }
    }
  });

  it('never have a secret of a kind that only Backscroll has, whether it is known, and whatever the scheme is', async (t) => {
    const dify = await FakeDify.start(t, 'postgres');
    const service = await dify.serveCopied();
    const other = await dify.serve();
    await dify.untilServed(other);
    dify.upstream.script = (socket) => json(socket, { from: 'Dify' });
    const kinds = ['writer', 'feed', 'admin'];
    const status = async (method: string, path: string, authorization: string) =>
      (await exchange(other.base, method, path, { headers: { authorization } })).status;
    // This instance knows now that it does not know the key.
    const created = `admin-${'n'.repeat(43)}`;
    assert.equal((await other.as(created).get('/admin/keys')).status, 401);
    await service.load([{ record: 'api_key', kind: 'admin', name: 'new', secret: created }]);
    for (const secret of [created, ...kinds.map((kind) => `${kind}-${'u'.repeat(43)}`)]) {
      for (const authorization of [
        `Bearer ${secret}`,
        `bearer   ${secret}`,
        secret,
        `Token ${secret}`,
        `Bearer ${secret} x`,
      ]) {
        assert.equal(await status('GET', '/v1/conversations?user=x', authorization), 401, authorization);
        assert.equal(await status('POST', '/v1/chat-messages', authorization), 401, authorization);
      }
    }
    assert.deepEqual(dify.upstream.requests, []);
  });
});
