import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { purge } from '../../src/domain/erasure/purge.ts';
import {
  exportedChunks,
  makeTenant,
  message,
  newDatabaseUrl,
  parseLines,
  type Service,
  startService,
} from '../support/harness.ts';
import { until } from '../support/until.ts';
import { workerUrls } from './cluster.ts';

const collect = async (service: Service): Promise<string> => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of exportedChunks(service.store)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};
type Line = Record<string, unknown>;
const parse = (text: string): Line[] => parseLines(text);

/** Imports an export into an empty database, and exports it again. */
async function importAgain(text: string): Promise<string> {
  const copy = await startService('postgres');
  try {
    await copy.load(parse(text));
    return await collect(copy);
  } finally {
    await copy.close();
  }
}

describe('an export of a distributed database', () => {
  it('has the same bytes after an import, with conversations and datasets of every size', async (t) => {
    const service = await startService('postgres');
    t.after(() => service.close());
    const tenants = Array.from({ length: 5 }, () => makeTenant());
    const lengths = [0, 1, 2, 49, 50, 51, 999, 1000, 1001, 2300, 3, 0, 700, 700];
    const conversations = lengths.flatMap((length) => {
      const id = randomUUID();
      const messages = Array.from({ length }, (_, at) => message(id, 1_000 + (at % 7), { answer: `${at}` }));
      return [{ record: 'conversation', id, app_id: tenants[0]?.ids.app, created_at: 1 }, ...messages];
    });
    const segment_id = tenants[1]?.ids.segment;
    const chunks = Array.from({ length: 1_300 }, (_, position) => {
      return { record: 'child_chunk', id: randomUUID(), segment_id, position, content: `text ${position}` };
    });
    await service.load([...tenants.flatMap(({ records }) => records), ...conversations, ...chunks]);
    await service.load(chunks.slice(0, 120).map((chunk) => ({ ...chunk, content: 'replaced' })));
    const exported = await collect(service);
    const count = (kind: string) => parse(exported).filter(({ record }) => record === kind).length;
    assert.equal(
      count('message'),
      lengths.reduce((sum, length) => sum + length, 0),
    );
    assert.deepEqual(
      [count('child_chunk'), count('child_chunk_revision'), count('conversation'), count('dataset')],
      [1_305, 120, lengths.length + 5, 5],
    );
    assert.equal(await importAgain(exported), exported);
  });

  it('can be imported, and has all that was stored before, while every kind of record is added and conversations are erased', async () => {
    const { url, remove } = await newDatabaseUrl('postgres');
    const service = await startService('postgres', {}, url);
    const others = await Promise.all((await workerUrls(url)).map((worker) => startService('postgres', {}, worker)));
    let isWriting = true;
    const stored: { id: string; messages: number }[] = [];
    const writers = [service, ...others].map(async (writer) => {
      while (isWriting) {
        const tenant = makeTenant();
        const messages = Array.from({ length: 5 }, (_, at) => message(tenant.ids.conversation, at));
        // A knowledge key for the new dataset only.
        const key = { record: 'api_key', kind: 'knowledge', workspace_id: tenant.ids.workspace, name: 'one' };
        const secret = `dataset-${randomUUID()}${randomUUID()}`;
        await writer.load([...tenant.records, { ...key, dataset_ids: [tenant.ids.dataset], secret }, ...messages]);
        stored.push({ id: tenant.ids.conversation, messages: messages.length });
        const erased = makeTenant();
        await writer.load([...erased.records, message(erased.ids.conversation, 1)]);
        await purge(writer.store, { conversation_id: erased.ids.conversation }, { key_id: null, now: 1 });
      }
    });
    try {
      for (let round = 0; round < 4; round += 1) {
        await until(() => stored.length >= 5 * (round + 1));
        const before = stored.slice();
        const exported = await collect(service);
        const lines = parse(exported);
        const messages = Map.groupBy(
          lines.filter(({ record }) => record === 'message'),
          ({ conversation_id }) => conversation_id,
        );
        for (const { id, messages: count } of before) assert.equal(messages.get(id)?.length, count);
        assert.equal(await importAgain(exported), exported);
      }
    } finally {
      isWriting = false;
      await Promise.all(writers);
      for (const one of [service, ...others]) await one.close();
      await remove();
    }
  });

  it('of a table that takes longer than DATABASE_TIMEOUT succeeds, with flat memory', async (t) => {
    const service = await startService('postgres', { DATABASE_TIMEOUT: '300' });
    t.after(() => service.close());
    const tenant = makeTenant();
    await service.load(tenant.records);
    const id = tenant.ids.conversation;
    const answer = 'x'.repeat(20_000);
    for (let batch = 0; batch < 10; batch += 1)
      await service.load(Array.from({ length: 500 }, (_, at) => message(id, batch * 500 + at, { answer })));
    let [bytes, largest] = [0, 0];
    for await (const chunk of exportedChunks(service.store)) {
      bytes += chunk.length;
      largest = Math.max(largest, chunk.length);
    }
    assert.ok(bytes > 100_000_000, `${bytes} bytes`);
    assert.ok(largest < 6_000_000, `${largest} bytes at once`);
  });
});
