import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { countWords } from '../../src/domain/records/count-words.ts';
import { createAtVersion, execute, newDatabase } from '../experiments/support/schema-databases.ts';
import { makeTenant, onEveryEngine, startService } from '../support/harness.ts';

onEveryEngine('knowledge bases of an older schema', (engine) => {
  it('are numbered and counted by the migration', async () => {
    const database = await newDatabase(engine);
    try {
      await createAtVersion(database, 4, 1);
      const [dataset, ...documents] = Array.from({ length: 4 }, () => randomUUID()).sort();
      const texts = ['one two', '这是中文', 'и три слова', ''];
      await execute(database, [
        { text: `INSERT INTO datasets (id, workspace_id, name) VALUES ($1, 'w', 'old')`, values: [dataset] },
        ...documents.map((id) => ({
          text: `INSERT INTO documents (dataset_id, id, name) VALUES ($1, $2, 'old')`,
          values: [dataset, id],
        })),
        ...texts.map((content, position) => ({
          text: `INSERT INTO segments (dataset_id, id, document_id, position, content) VALUES ($1, $2, $3, $4, $5)`,
          values: [dataset, randomUUID(), documents[position % 2], position, content],
        })),
      ]);
      const service = await startService(engine, {}, database.url);
      try {
        const tenant = makeTenant();
        const key = tenant.keys.knowledge;
        await service.load([{ record: 'api_key', kind: 'knowledge', workspace_id: 'w', name: 'k', secret: key }]);
        const read = async (path: string) => (await service.request('GET', path, { key })).body;
        const base = await read(`/v1/datasets/${dataset}`);
        const words = texts.map(countWords);
        assert.equal(
          base.word_count,
          words.reduce((sum, count) => sum + count),
        );
        assert.deepEqual([base.created_at, base.updated_at, base.tags, base.description], [0, 0, [], null]);
        const list = await read(`/v1/datasets/${dataset}/documents`);
        assert.deepEqual(
          list.data.map(({ id, position }: Record<string, unknown>) => [id, position]),
          documents.map((id, at) => [id, at + 1]).toReversed(),
        );
        const single = await read(`/v1/datasets/${dataset}/documents/${documents[0]}`);
        assert.equal(single.segment_count, 2);
        const { data } = await read(`/v1/datasets/${dataset}/documents/${documents[0]}/segments`);
        assert.deepEqual(
          data.map(({ word_count }: Record<string, unknown>) => word_count),
          [words[0], words[2]],
        );
        assert.deepEqual([data[0].created_at, data[0].status, data[0].enabled], [0, 'completed', true]);
      } finally {
        await service.close();
      }
    } finally {
      await database.remove();
    }
  });
});
