import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ImportSources } from '../../src/domain/store/import-sources.ts';
import type { Store } from '../../src/domain/store/store.ts';
import { runImport } from '../dify/runs.ts';
import { at, difyId, ids } from '../support/dify-database.ts';
import { onOneEngine, type Service } from '../support/harness.ts';
import { until } from '../support/until.ts';
import { FakeDify, idsIn, json, page, read, send } from './fake-dify.ts';

type FindRecords = ImportSources['findRecords'];

/** A service whose follower calls `meanwhile` between the read of rows in the source and their write. */
function withPause(service: Service, meanwhile: (...parameters: Parameters<FindRecords>) => Promise<void>): Service {
  const findRecords: FindRecords = async (...parameters) => {
    await meanwhile(...parameters);
    return service.store.imports.findRecords(...parameters);
  };
  const override = <T extends object>(object: T, fields: Partial<T>): T =>
    new Proxy(object, {
      get: (target, name) => {
        if (Object.hasOwn(fields, name)) return fields[name as keyof T];
        const value = target[name as keyof T];
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const imports = override(service.store.imports, { findRecords });
  return override(service, { store: override<Store>(service.store, { imports }) });
}

onOneEngine('the follower of a Dify installation', (engine) => {
  it('is one at a time: another one waits until it ends, and goes on', async (t) => {
    const dify = await FakeDify.start(t, engine);
    const service = await dify.serveCopied();
    const first = dify.follow(service);
    await until(() => first.polls() > 0);
    const second = dify.follow(service);
    const before = first.polls();
    await until(() => first.polls() > before + 3);
    assert.equal(second.polls(), 0);
    await first.stop();
    await until(() => second.polls() > 0);
    await second.stop();
  });

  it('shows how far a copy is in /health/ready from its start, and then its lag', async (t) => {
    const dify = await FakeDify.start(t, engine);
    const service = await dify.serve();
    const ready = async () => (await service.request('GET', '/health/ready')).body;
    const seen: { done: number; total?: number }[] = [];
    const following = withPause(service, async () => {
      const { dify: lag, dify_copy: copy } = await ready();
      if (copy !== undefined) seen.push(copy);
      assert.ok(lag === undefined || copy === undefined);
    });
    const follower = dify.follow(following);
    await until(() => follower.polls() > 0);
    await follower.stop();
    assert.deepEqual(seen[0], { done: 0 });
    const { done = 0, total } = seen.at(-1) ?? {};
    // Its conversation and three messages; segments and child chunks follow.
    assert.ok(done >= 4 && done < (total ?? 0), JSON.stringify(seen));
    const { dify: lag, dify_copy: copy } = await ready();
    assert.ok(lag.messages_lag_seconds < 600 && copy === undefined);
  });

  it('does not leave an older state than a request has stored', async (t) => {
    const dify = await FakeDify.start(t, engine);
    const service = await dify.serveCopied();
    const rename = (name: string) =>
      dify.database.run(
        `UPDATE conversations SET name = '${name}', updated_at = now() WHERE id = '${ids.conversation}'`,
      );
    await rename('of the follower');
    dify.upstream.script = async (socket) => {
      await rename('of a request');
      json(socket, {});
    };
    let hasPaused = false;
    const following = withPause(service, async (kind, found) => {
      if (hasPaused || kind !== 'conversation' || !found.includes(ids.conversation)) return;
      hasPaused = true;
      // It ends after this poll: the next one would repair it.
      void follower.stop();
      const path = `/v1/conversations/${ids.conversation}/name`;
      assert.equal((await send(service, 'POST', path, { name: 'of a request' })).status, 200);
      assert.match((await read(service, '/v1/conversations')).text, /"name":"of a request"/);
    });
    const follower = dify.follow(following);
    await follower.stopped;
    assert.ok(hasPaused);
    assert.match((await read(service, '/v1/conversations')).text, /"name":"of a request"/);
  });

  it('leaves a conversation to Dify until all of its messages are here', async (t) => {
    const dify = await FakeDify.start(t, engine);
    const [tenant, app, conversation] = [difyId(180), difyId(181), difyId(182)];
    const token = `app-${'Ef5'.repeat(8)}`;
    const service = await dify.serveCopied();
    await dify.database.insert('tenants', { id: tenant, name: 'Later', created_at: at(1793600001) });
    await dify.database.insert('tenant_account_joins', { tenant_id: tenant });
    await dify.database.insert('apps', { id: app, tenant_id: tenant, name: 'Later', mode: 'chat' });
    await dify.database.insert('api_tokens', { id: difyId(183), app_id: app, type: 'app', token });
    await dify.database.insert('conversations', { id: conversation, app_id: app });
    const messages = Array.from({ length: 120 }, (_, nth) => ({
      ...{ id: difyId(200 + nth), conversation_id: conversation, app_id: app, inputs: {}, query: 'q', answer: 'a' },
    }));
    await dify.database.insert('messages', ...messages);
    dify.upstream.script = (socket) => json(socket, { data: [{ id: 'from Dify' }] });
    const seen: string[][] = [];
    const readPage = async () => idsIn((await read(service, `${page(conversation)}&limit=100`, token)).text);
    const following = withPause(service, async (kind, found) => {
      if (kind === 'conversation' && found.includes(conversation)) seen.push(await readPage());
    });
    await runImport(dify.database.url, following.store, { isOwner: true });
    // Before the first write and before the last one, where all messages are stored.
    assert.ok(seen.length >= 2);
    for (const data of seen.slice(0, 2)) assert.deepEqual(data, ['from Dify']);
    dify.upstream.requests.length = 0;
    assert.equal((await readPage()).length, 100);
    assert.equal(dify.upstream.requests.length, 0);
  });
});
