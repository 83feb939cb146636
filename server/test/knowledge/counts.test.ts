import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { countWords } from '../../src/domain/records/count-words.ts';
import { makeTenant, onEveryEngine, startService } from '../support/harness.ts';
import { shortOrLong } from '../support/long.ts';

type Segment = { id: string; document_id: string; position: number; content: string };
const words = ['one', 'two words', 'и три слова', '这是中文', '', 'a,b', 'x '.repeat(30)];
const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;

onEveryEngine('counts of documents', (engine) => {
  it('equal a recount of the segments after random imports', async (t) => {
    const service = await startService(engine);
    t.after(() => service.close());
    const tenant = makeTenant();
    const { dataset, document, segment, workspace } = tenant.ids;
    await service.load(tenant.records);
    const otherDataset = randomUUID();
    const documents: { id: string; dataset_id: string }[] = [{ id: document, dataset_id: dataset }];
    const segments = new Map<string, Segment>();
    segments.set(segment, { id: segment, document_id: document, position: 1, content: 'segment text' });
    await service.load([{ record: 'dataset', id: otherDataset, workspace_id: workspace, name: 'other' }]);
    const rounds = shortOrLong(15, 200);
    for (let round = 0; round < rounds; round += 1) {
      const input: object[] = [];
      const changed = new Map(segments);
      for (let line = 0; line < 1 + Math.random() * 12; line += 1) {
        const kind = Math.random();
        if (kind < 0.2) {
          const one = { id: randomUUID(), dataset_id: pick([dataset, otherDataset]) };
          documents.push(one);
          input.push({ record: 'document', ...one, name: 'new' });
        } else if (kind < 0.35) input.push({ record: 'document', ...pick(documents), name: 'again', enabled: false });
        else if (kind < 0.6) {
          const again = { ...pick([...changed.values()]), content: pick(words), position: round };
          changed.set(again.id, again);
          input.push({ record: 'segment', ...again });
        } else {
          const { id: document_id } = pick(documents);
          const added = { id: randomUUID(), document_id, position: line, content: pick(words) };
          changed.set(added.id, added);
          input.push({ record: 'segment', ...added });
        }
      }
      if (Math.random() < 0.25) {
        // A bad last line: nothing of the import is stored, and no count changes.
        const knownDocuments = documents.length;
        await assert.rejects(service.load([...input, { record: 'segment', id: randomUUID() }]));
        documents.length = Math.min(knownDocuments, documents.length);
        for (const { id } of input as { id: string }[]) {
          const at = documents.findIndex((one) => one.id === id);
          const isNew =
            at > 0 && (input as { name?: string; id: string }[]).some((l) => l.id === id && l.name === 'new');
          if (isNew) documents.splice(at, 1);
        }
        continue;
      }
      await service.load(input);
      segments.clear();
      for (const [id, one] of changed) segments.set(id, one);
    }
    const key = tenant.keys.knowledge;
    const read = async (path: string) => (await service.as(key).get(path)).body;
    const expected = { [dataset]: 0, [otherDataset]: 0 };
    for (const { id, dataset_id } of documents) {
      const own = [...segments.values()].filter(({ document_id }) => document_id === id);
      const sum = own.reduce((total, { content }) => total + countWords(content), 0);
      expected[dataset_id] = (expected[dataset_id] ?? 0) + sum;
      const single = await read(`/v1/datasets/${dataset_id}/documents/${id}`);
      const average = own.length === 0 ? 0 : Math.floor(sum / own.length);
      assert.deepEqual([single.segment_count, single.average_segment_length], [own.length, average]);
      assert.equal((await read(`/v1/datasets/${dataset_id}/documents/${id}/segments`)).total, own.length);
    }
    for (const id of [dataset, otherDataset]) {
      const base = await read(`/v1/datasets/${id}`);
      const own = documents.filter(({ dataset_id }) => dataset_id === id);
      assert.deepEqual(
        [base.word_count, base.document_count, base.total_documents],
        [expected[id], own.length, own.length],
      );
      const listed = await read(`/v1/datasets/${id}/documents?limit=100`);
      const positions = listed.data.map(({ position }: { position: number }) => position);
      if (listed.total <= 100) assert.equal(new Set(positions).size, own.length, 'each document has its own position');
    }
  });
});
