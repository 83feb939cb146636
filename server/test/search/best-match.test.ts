import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, it } from 'node:test';
import { limits } from '../../src/contract/limits.ts';
import { makeTwoTenants, message, onEveryEngine, type Service, startService } from '../support/harness.ts';

onEveryEngine('best match', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const [first, second, long] = Array.from({ length: 3 }, () => randomUUID());
  let service: Service;
  const search = async (query: Record<string, string | number>) => {
    const parameters = new URLSearchParams({ order: 'best', ...query } as never);
    const { status, body, text } = await service.as(admin).get(`/admin/search?${parameters}`);
    assert.equal(status, 200, text);
    return body;
  };
  const found = async (query: Record<string, string | number>) =>
    (await search(query)).data.map((hit: { created_at: number; hit_count: number | null }) => [
      hit.created_at,
      hit.hit_count,
    ]);

  before(async () => {
    service = await startService(engine);
    const talk = (id = '') => ({ record: 'conversation', id, app_id: one.ids.app, user: 'ann' });
    const other = { query: 'Other', answer: 'words' };
    await service.load([
      ...records,
      ...[first, second, long].map(talk),
      message(first ?? '', 1_000, { ...other, query: 'How is a refund paid?' }),
      message(first ?? '', 1_001, { ...other, answer: 'A refund takes a week.' }),
      message(second ?? '', 1_002, { ...other, answer: 'See\n```\nrefund()\n```' }),
      message(second ?? '', 1_003, { ...other, answer: 'The refund was paid.' }),
      message(second ?? '', 1_004, { ...other, error: 'refund failed', status: 'error' }),
      ...Array.from({ length: limits.searchRankedMax + 1 }, (_, n) =>
        message(long ?? '', 2_000 + n, { ...other, query: n === 0 ? 'gate gate' : 'Other', answer: 'The gate' }),
      ),
    ]);
    await service.index();
  });
  after(() => service?.close());

  it('200: the question before the answer, the answer before its code and other texts; of equal ones the newest', async () => {
    const times = [1_000, 1_003, 1_001, 1_004, 1_002];
    assert.deepEqual(
      await found({ q: 'refund' }),
      times.map((time) => [time, null]),
    );
    assert.deepEqual(
      await found({ q: 'refund', limit: 2 }),
      times.slice(0, 2).map((time) => [time, null]),
    );
    assert.deepEqual(await found({ q: 'refund pai' }), [
      [1_000, null],
      [1_003, null],
    ]);
  });

  it('200: of each conversation its best hit, with the number of its hits', async () => {
    assert.deepEqual(await found({ q: 'refund', group: 'conversation' }), [
      [1_000, 2],
      [1_003, 3],
    ]);
  });

  it('200: on one page; of very many hits the newest are compared, and their number is not told', async () => {
    const { data, has_more, next_cursor } = await search({ q: 'gate', group: 'conversation' });
    assert.deepEqual([data.length, data[0].hit_count, has_more, next_cursor], [1, null, false, null]);
    assert.equal(data[0].created_at, 2_000 + limits.searchRankedMax, 'the oldest, which is better, is not compared');
  });

  it('400: another order, or of knowledge bases', async () => {
    for (const query of ['order=oldest', 'in=knowledge&order=best'])
      assert.equal((await service.as(admin).get(`/admin/search?q=a&${query}`)).status, 400, query);
  });
});
