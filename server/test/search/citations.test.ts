import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, it } from 'node:test';
import { makeTwoTenants, message, onEveryEngine, useService } from '../support/harness.ts';
import { citation } from '../support/rich-messages.ts';

const daySeconds = 86_400;
const now = Math.floor(Date.now() / 1000);
/** Two knowledge bases with two documents of two segments each. */
const bases = Array.from({ length: 2 }, (_, base) => ({
  id: randomUUID(),
  name: `base ${base}`,
  documents: Array.from({ length: 2 }, (_, at) => ({
    id: randomUUID(),
    name: `document ${base}${at}`,
    segments: [randomUUID(), randomUUID()],
  })),
}));
const places = bases.flatMap((base) =>
  base.documents.flatMap((document) => document.segments.map((segment) => ({ base, document, segment }))),
);
type Answer = { id: string; conversation: string; disliked: boolean; at: number; cites: readonly number[] };

onEveryEngine('answers that cite a text', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const conversations = [one.ids.conversation, randomUUID(), randomUUID()];
  let answers: Answer[] = [];
  const get = async (path: string) => (await service.as(admin).get(path)).body;
  const recordOf = ({ id, conversation, disliked, at, cites }: Answer) => ({
    ...message(conversation, at, { feedback: disliked ? { rating: 'dislike' } : null }),
    id,
    retriever_resources: cites.map((place) => {
      const { base, document, segment } = places[place] ?? assert.fail();
      return { ...citation(id), dataset_id: base.id, document_id: document.id, segment_id: segment };
    }),
  });
  const load = async (changed: readonly Answer[]) => {
    await service.load(changed.map(recordOf));
    answers = [...answers.filter(({ id }) => !changed.some((one) => one.id === id)), ...changed];
  };

  const service = useService(engine, [
    ...records,
    ...conversations.slice(1).map((id) => ({ record: 'conversation', id, app_id: one.ids.app, user: 'cat' })),
    ...bases.flatMap(({ id, name, documents }) => [
      { record: 'dataset', id, name, workspace_id: one.ids.workspace },
      ...documents.flatMap((document) => [
        { record: 'document', id: document.id, dataset_id: id, name: document.name },
        ...document.segments.map((segment, position) => ({
          ...{ record: 'segment', id: segment, document_id: document.id, position, content: `text ${segment}` },
        })),
      ]),
    ]),
  ]);
  before(async () => {
    await load(
      Array.from({ length: 60 }, (_, n) => ({
        id: randomUUID(),
        conversation: conversations[n % 3] ?? assert.fail(),
        disliked: n % 4 === 0,
        at: now - (n % 40) * daySeconds,
        // Two segments of one document count once for the document.
        cites: n % 5 === 0 ? [] : [n % 8, (n * 3) % 8].filter((place, at, all) => all.indexOf(place) === at),
      })),
    );
    await service.index();
  });

  /** Everything that the console shows, compared with a count of the answers. */
  const check = async () => {
    await service.index();
    const start = (Math.floor(now / daySeconds) - 29) * daySeconds;
    const recent = answers.filter(({ at }) => at >= start);
    const countOf = (list: readonly Answer[], isCited: (place: (typeof places)[number]) => boolean) =>
      list.filter(({ cites }) => cites.some((at) => isCited(places[at] ?? assert.fail()))).length;
    const disliked = recent.filter((answer) => answer.disliked);
    const counts = (isCited: Parameters<typeof countOf>[1]) => [countOf(recent, isCited), countOf(disliked, isCited)];
    const listed = async (path: string) =>
      new Map<string, number[]>(
        (await get(path)).data.map(({ id, cited, disliked }: Record<string, never>) => [id, [cited, disliked]]),
      );
    const inBases = await listed('/admin/datasets');
    for (const { id, documents } of bases) {
      assert.deepEqual(
        inBases.get(id),
        counts(({ base }) => base.id === id),
      );
      const found = async (filters: string) => (await get(`/admin/search/counts?${filters}&from=${start}`)).all;
      const ofBase = await found(`dataset_id=${id}&rating=dislike`);
      assert.equal(ofBase, inBases.get(id)?.[1], 'the link leads to as many answers as the list says');
      const inDocuments = await listed(`/admin/datasets/${id}/documents`);
      for (const one of documents) {
        assert.deepEqual(
          inDocuments.get(one.id),
          counts(({ document }) => document.id === one.id),
        );
        assert.equal(await found(`document_id=${one.id}`), inDocuments.get(one.id)?.[0]);
      }
    }
    const worst = await get('/admin/search/worst');
    const bySegment = places
      .map(({ segment }) => ({ segment, disliked: countOf(disliked, (place) => place.segment === segment) }))
      .filter((row) => row.disliked > 0)
      .sort((one, other) => other.disliked - one.disliked || (one.segment < other.segment ? -1 : 1))
      .slice(0, 3);
    const citing = countOf(disliked, ({ segment }) => bySegment.some((row) => row.segment === segment));
    assert.deepEqual(
      { ...worst, data: worst.data.map(({ segment_id, disliked }: never) => ({ segment: segment_id, disliked })) },
      { from: start, disliked: disliked.length, citing, data: bySegment },
    );
    const sorted = (await get(`/admin/datasets/${bases[0]?.id}/documents?sort=-disliked`)).data;
    assert.deepEqual(
      sorted.map((row: { disliked: number }) => row.disliked),
      (bases[0]?.documents ?? [])
        .map(({ id }) => countOf(disliked, ({ document }) => document.id === id))
        .filter((n) => n > 0)
        .sort((one, other) => other - one),
    );
  };

  it('counts them as by hand, by knowledge base, document and segment, in the last 30 days', check);

  it('follows ratings, other citations, and an import of the same again', async () => {
    const [first, second, third] = answers as [Answer, Answer, Answer];
    await load([
      { ...first, disliked: !first.disliked },
      { ...second, cites: [7], disliked: true },
      { ...third, cites: [] },
    ]);
    await check();
    await load(answers);
    await check();
  });

  it('follows erasures of a message and of a user, and deletions', async () => {
    const erased = answers.find(({ disliked, cites }) => disliked && cites.length > 0) ?? assert.fail();
    const path = `/admin/apps/${one.ids.app}/conversations/${erased.conversation}/messages/${erased.id}`;
    assert.equal((await service.as(admin).delete(path)).status, 204);
    answers = answers.filter(({ id }) => id !== erased.id);
    await check();
    const deleted = `/v1/conversations/${one.ids.conversation}`;
    const body = { user: 'ann' };
    assert.equal((await service.as(one.keys.app).delete(deleted, body)).status, 204);
    answers = answers.filter(({ conversation }) => conversation !== one.ids.conversation);
    await check();
    const purge = { app_id: one.ids.app, user: 'cat' };
    assert.equal((await service.as(admin).post('/admin/purge', purge)).status, 200);
    answers = [];
    await check();
  });
});
