import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { it } from 'node:test';
import { makeTwoTenants, message, ndjson, onEveryEngine, parseLines, startService } from '../support/harness.ts';
import { shortOrLong } from '../support/long.ts';

const exportCount = shortOrLong(1, 4);
const writesDuringEach = 5;

onEveryEngine('an export during writes', (engine) => {
  it('shows a single point in time: all records of an import, or none', async (t) => {
    const service = await startService(engine);
    t.after(() => service.close());
    const { one, other, admin, records } = makeTwoTenants();
    // These records are in the middle of an export and exceed the socket buffers, so an unread export has to wait.
    const filler = Array.from({ length: 400 }, (_, position) => ({
      record: 'segment',
      id: randomUUID(),
      document_id: one.ids.document,
      position,
      content: 'x'.repeat(40_000),
    }));
    await service.load([...records, ...filler]);

    // Each import writes its number into the first table of an export, one in the middle, and two conversations.
    let written = 0;
    let isWriting = true;
    const write = async () => {
      for (; isWriting; written += 1) {
        const number = written + 1;
        const { workspace, document, segment } = one.ids;
        const body = ndjson([
          { record: 'workspace', id: workspace, name: `${number}` },
          { record: 'segment', id: segment, document_id: document, position: 1, content: `${number}` },
          ...[one, other].map(({ ids }) => message(ids.conversation, 1_000_000 + number, { query: 'numbered' })),
        ]);
        const headers = { 'content-type': 'application/x-ndjson' };
        assert.equal((await service.as(admin).post('/admin/records', body, headers)).status, 200);
      }
    };
    const writing = write();
    const waitUntilWritten = async (number: number) => {
      while (written < number) await Promise.race([writing, new Promise(setImmediate)]);
    };
    await waitUntilWritten(1);

    for (let round = 0; round < exportCount; round += 1) {
      const writtenBefore = written;
      const headers = { authorization: `Bearer ${admin}` };
      const request = http.get(`${service.base}/admin/records`, { headers });
      const [response] = (await once(request, 'response')) as [http.IncomingMessage];
      const chunks: Buffer[] = [];
      let writtenAtStart = 0;
      for await (const chunk of response) {
        if (chunks.push(chunk) > 1) continue;
        writtenAtStart = written;
        await waitUntilWritten(writtenAtStart + writesDuringEach);
      }
      const exported: Record<string, unknown>[] = parseLines(Buffer.concat(chunks).toString());
      const find = (id: string) => exported.find((record) => record.id === id);
      const number = Number(find(one.ids.workspace)?.name);
      // One write may be committed without its response having arrived.
      assert.ok(
        number >= writtenBefore && number <= writtenAtStart + 1,
        `${writtenBefore} <= ${number} <= ${writtenAtStart + 1}`,
      );
      assert.equal(Number(find(one.ids.segment)?.content), number);
      for (const { ids } of [one, other]) {
        const times = exported
          .filter(({ query, conversation_id }) => query === 'numbered' && conversation_id === ids.conversation)
          .map(({ created_at }) => Number(created_at) - 1_000_000);
        assert.deepEqual(
          times,
          Array.from({ length: number }, (_, at) => at + 1),
        );
      }
    }
    isWriting = false;
    await writing;
  });
});
