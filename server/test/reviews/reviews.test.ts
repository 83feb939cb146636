import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, it } from 'node:test';
import {
  makeTwoTenants,
  message,
  onEveryEngine,
  parseLines,
  pluck,
  startService,
  useService,
} from '../support/harness.ts';
import { citation } from '../support/rich-messages.ts';

const now = 1_793_822_400;
const day = 86_400;

onEveryEngine('reviews', (engine) => {
  const { one, other, admin, records } = makeTwoTenants();
  const conversation = one.ids.conversation;
  const document = randomUUID();
  const cited = { retriever_resources: [{ ...citation(randomUUID()), document_id: document }] };
  const disliked = message(conversation, now - 10, {
    feedback: { rating: 'dislike' },
    feedback_content: 'wrong number',
    ...cited,
  });
  const failed = message(conversation, now - 20, { status: 'error', error: 'no model' });
  const fine = message(conversation, now - 30);
  const old = message(conversation, now - 31 * day, { feedback: { rating: 'dislike' } });
  const liked = message(conversation, now - 40, { feedback: { rating: 'like' } });
  const elsewhere = message(other.ids.conversation, now - 15, { feedback: { rating: 'dislike' } });

  const service = useService(engine);
  before(async () => {
    service.freezeClock(now * 1000);
    await service.load([...records, disliked, failed, fine, old, liked, elsewhere]);
  });

  const pathOf = ({ id, conversation_id }: { id: string; conversation_id: string }, { ids } = one) =>
    `/admin/apps/${ids.app}/conversations/${conversation_id}/messages/${id}/review`;
  const put = (of: typeof fine, body: object, headers = {}) => service.as(admin).put(pathOf(of), body, headers);
  const list = async (query = '') => {
    const response = await service.as(admin).get(`/admin/reviews?${query}`);
    assert.equal(response.status, 200, response.text);
    return response.body;
  };
  const ids = async (query = '') => (await list(query)).data.map(({ message: { id } }: never) => id);

  it('200: disliked and failed messages of the last 30 days are open without a review', async () => {
    const { data, has_more, cursor } = await list('state=open');
    assert.deepEqual(
      data.map((row: { message: { id: string }; reason: string; review: unknown }) => [
        row.message.id,
        row.reason,
        row.review,
      ]),
      [
        [disliked.id, 'disliked', null],
        [elsewhere.id, 'disliked', null],
        [failed.id, 'failed', null],
      ],
    );
    assert.deepEqual([has_more, cursor], [false, null]);
    const [{ message: first }] = data;
    assert.deepEqual(
      [first.app_id, first.user, first.feedback_content, first.query, first.answer],
      [one.ids.app, 'ann', 'wrong number', 'q', 'a'],
    );
    assert.deepEqual(await ids(`app_id=${one.ids.app}`), [disliked.id, failed.id]);
    assert.deepEqual(await ids(`document_id=${document.toUpperCase()}`), [disliked.id]);
    assert.deepEqual(await ids(`from=${now - 20}&to=${now - 10}`), [elsewhere.id, failed.id]);
    assert.deepEqual(await ids('state=done'), []);
  });

  it('200: a text that is replaced during a review knows it, and the review lists it', async () => {
    const { dataset, document, segment, chunk } = one.ids;
    const path = one.chunkPath.replace('/v1/', '/admin/');
    const edit = async (content: string, review_message_id?: string) => {
      const body = { content, review_message_id };
      const { status, text } = await service.request('PATCH', path, { key: admin, body });
      assert.equal(status, 200, text);
    };
    await edit('by the way');
    await edit('first', disliked.id.toUpperCase());
    await edit('second', disliked.id);
    const { data } = (await service.request('GET', `${path}/revisions`, { key: admin })).body;
    assert.deepEqual(pluck(data, 'review_message_id'), [disliked.id, disliked.id, null]);
    const place = { name: 'document, segment 1, chunk 1', path: [dataset, document, segment, chunk], replaced_at: now };
    const listed = async (query: string) => (await list(query)).data[0].revisions;
    const expected = [3, 2].map((revision) => ({ ...place, revision }));
    assert.deepEqual(await listed(`message_id=${disliked.id}`), expected);
    assert.deepEqual(await listed('state=open'), expected);
    assert.deepEqual(await listed(`message_id=${failed.id}`), []);
    const exported = await service.request('GET', '/admin/records?kinds=child_chunk_revision', { key: admin });
    assert.equal(exported.text.split(disliked.id).length - 1, 2, exported.text);
    // A knowledge key knows no messages.
    const body = { content: 'third', review_message_id: disliked.id };
    assert.equal((await service.request('PATCH', one.chunkPath, { key: one.keys.knowledge, body })).status, 200);
    assert.equal((await listed(`message_id=${disliked.id}`)).length, 2);
  });

  it('200: one message, also one that needs no review', async () => {
    const [row, ...others] = (await list(`message_id=${fine.id.toUpperCase()}`)).data;
    assert.deepEqual([row.message.id, row.review, row.reason, others], [fine.id, null, 'opened', []]);
    assert.deepEqual(await ids(`message_id=${old.id}&app_id=${one.ids.app}`), [old.id]);
    assert.deepEqual(await ids(`message_id=${fine.id}&app_id=${other.ids.app}`), []);
    assert.deepEqual(await ids(`message_id=${fine.id}&state=open`), []);
    assert.deepEqual(await ids(`message_id=${disliked.id}&state=open`), [disliked.id]);
    assert.deepEqual(await ids(`message_id=${randomUUID()}`), []);
  });

  it('200: pages in the order of messages, whatever the limit', async () => {
    const all = await ids();
    const walked: string[] = [];
    for (let cursor = ''; ; ) {
      const page = await list(`limit=1${cursor}`);
      walked.push(...page.data.map((row: { message: { id: string } }) => row.message.id));
      if (!page.has_more) break;
      cursor = `&cursor=${page.cursor}`;
    }
    assert.deepEqual(walked, all);
  });

  it('200: a message without problems is opened, with its fields, history and tag', async () => {
    const response = await put(fine, { labels: ['price', 'price', 'tone'], note: 'n', expected_answer: 'better' });
    assert.equal(response.status, 200, response.text);
    const { etag, history, key_id, ...review } = response.body;
    assert.equal(response.headers.etag, etag);
    assert.deepEqual(review, {
      ...{ app_id: one.ids.app, conversation_id: conversation, message_id: fine.id, state: 'open' },
      ...{ labels: ['price', 'tone'], note: 'n', expected_answer: 'better', assignee: null, updated_at: now },
      ...{ person_id: null, assignee_name: null },
    });
    assert.deepEqual(history, [{ at: now, key_id, person_id: null, state: 'open', assignee: null, name: 'admin' }]);
    const [row] = (await list('label=price')).data;
    assert.deepEqual([row.message.id, row.reason, row.review], [fine.id, 'opened', response.body]);
    assert.deepEqual(await ids('label=pric'), []);
    assert.deepEqual(await ids('label=PRICE'), []);
    assert.deepEqual(await ids('state=open'), [disliked.id, elsewhere.id, failed.id, fine.id]);
  });

  it('200: absent fields get their defaults, and the 20 newest changes stay', async () => {
    for (let at = 0; at < 21; at += 1) await put(fine, { note: `${at}`, state: at % 2 === 0 ? 'done' : 'ignored' });
    const { body } = await put(fine, {});
    assert.deepEqual([body.state, body.labels, body.note, body.expected_answer], ['open', [], null, null]);
    assert.equal(body.history.length, 20);
    assert.deepEqual(pluck(body.history.slice(0, 2), 'state'), ['open', 'done']);
  });

  it('412: one of two reviewers gets the message', async () => {
    const key_id = (await service.as(admin).get('/admin/keys')).body.data.find(
      ({ kind }: { kind: string }) => kind === 'admin',
    ).id;
    const claim = { assignee: key_id };
    const claims = await Promise.all([1, 2].map(() => put(failed, claim, { 'if-none-match': '*' })));
    assert.deepEqual(claims.map(({ status }) => status).sort(), [200, 412]);
    const won = claims.find(({ status }) => status === 200)?.body;
    assert.equal(won.assignee_name, 'admin');
    assert.deepEqual(await ids(`assignee=${key_id}`), [failed.id]);
    const again = await Promise.all([1, 2].map(() => put(failed, claim, { 'if-match': won.etag })));
    assert.deepEqual(again.map(({ status }) => status).sort(), [200, 412]);
    const stale = await put(failed, { state: 'done' }, { 'if-match': won.etag });
    assert.deepEqual([stale.status, stale.body.code], [412, 'precondition_failed']);
    const missing = await put(liked, {}, { 'if-match': '*' });
    assert.equal(missing.status, 412);
    assert.deepEqual(await ids('state=done'), []);
  });

  it('200: done and ignored leave the queue; disliked again, a done one comes back', async () => {
    await put(disliked, { state: 'done', note: 'fixed', assignee: 'x' });
    await put(failed, { state: 'ignored' });
    assert.deepEqual(await ids('state=open'), [elsewhere.id, fine.id]);
    assert.deepEqual(await ids('state=done'), [disliked.id]);
    assert.deepEqual(await ids('state=ignored'), [failed.id]);
    const rate = (of: typeof fine, rating: string | null) =>
      service.as(one.keys.app).post(`/v1/messages/${of.id}/feedbacks`, { rating, user: 'ann' });
    assert.equal((await rate(disliked, 'like')).status, 200);
    assert.deepEqual(await ids('state=done'), [disliked.id]);
    assert.equal((await rate(disliked, 'dislike')).status, 200);
    assert.equal((await rate(failed, 'dislike')).status, 200);
    assert.deepEqual(await ids('state=open'), [disliked.id, elsewhere.id, fine.id]);
    const [{ review }] = (await list('state=open')).data;
    assert.deepEqual([review.note, review.assignee, review.key_id], ['fixed', null, null]);
    const [reopened, done] = review.history;
    const nobody = { key_id: null, person_id: null, name: null };
    assert.deepEqual([reopened, done.state], [{ at: now, ...nobody, state: 'open', assignee: null }, 'done']);

    await put(disliked, { state: 'done' });
    await service.load([disliked]);
    assert.deepEqual(await ids('state=done'), [disliked.id], 'the same message again');
    await service.load([
      { ...disliked, feedback: null },
      { ...disliked, rated_at: now + 5 },
    ]);
    assert.deepEqual(await ids('state=done'), []);
    const [{ review: imported }] = (await list('state=open')).data;
    assert.deepEqual([imported.history[0].at, imported.history.length, imported.updated_at], [now + 5, 4, now + 5]);

    assert.deepEqual((await rate(liked, 'dislike')).status, 200);
    assert.ok((await ids('state=open')).includes(liked.id));
    assert.deepEqual((await rate(liked, null)).status, 200);
    assert.ok(!(await ids()).includes(liked.id));
  });

  it('200: an assignee is found whatever the case of its ID, and a record has each label once', async () => {
    const assignee = randomUUID().toUpperCase();
    const record = { record: 'review', app_id: one.ids.app, conversation_id: conversation, message_id: failed.id };
    await put(fine, { assignee });
    await service.load([{ ...record, assignee, labels: ['twice', 'twice', 'x'] }]);
    for (const text of [assignee, assignee.toLowerCase()])
      assert.deepEqual(await ids(`assignee=${text}`), [failed.id, fine.id]);
    assert.deepEqual((await list(`message_id=${failed.id}`)).data[0].review.labels, ['twice', 'x']);
    await put(fine, {});
    await put(failed, { state: 'ignored' });
  });

  it('200: counts of open messages and of labels', async () => {
    const counts = async (query = '') => (await service.as(admin).get(`/admin/reviews/counts?${query}`)).body;
    const counted = async (query = '') => (await list(`state=open&limit=100${query}`)).data.length;
    const before = await counts();
    assert.equal(before.open, await counted());
    await put(fine, { labels: ['price', 'tone'] });
    await put(failed, { state: 'ignored', labels: ['tone'] });
    assert.deepEqual(await counts(), {
      open: await counted(),
      labels: [
        { label: 'tone', count: 2 },
        { label: 'price', count: 1 },
      ],
    });
    assert.deepEqual(await counts(`app_id=${other.ids.app}`), { open: 1, labels: [] });
    assert.deepEqual(await counts(`from=${now - 20}&to=${now - 15}`), {
      open: await counted(`&from=${now - 20}&to=${now - 15}`),
      labels: [{ label: 'tone', count: 1 }],
    });
    assert.equal((await service.as(admin).get(`/admin/reviews/counts?app_id=${randomUUID()}`)).status, 404);
    await put(fine, {});
    await put(failed, { state: 'ignored' });
  });

  it('the same bytes after an export, an import and an export; a selected export has its reviews', async () => {
    const exported = (await service.as(admin).get('/admin/records')).text;
    assert.ok(exported.includes('"record":"review"'));
    const copy = await startService(engine);
    try {
      const secret = { record: 'api_key', kind: 'admin', name: 'admin', secret: admin };
      await copy.load(parseLines(exported));
      await copy.load([secret]);
      copy.freezeClock(now * 1000);
      const again = await copy.as(admin).get('/admin/records?kinds=review');
      assert.equal(
        again.text,
        exported
          .split('\n')
          .filter((line) => line.includes('"record":"review"'))
          .concat('')
          .join('\n'),
      );
      const bodies = (body: { data: { review: { etag?: string } | null }[] }) =>
        body.data.map((row) => ({ ...row, review: row.review && { ...row.review, etag: '' } }));
      const listed = await copy.as(admin).get('/admin/reviews');
      assert.deepEqual(bodies(listed.body), bodies(await list()));
    } finally {
      await copy.close();
    }
    const part = (query: string) => service.as(admin).get(`/admin/records?kinds=review&${query}`);
    const reviewed = async (query: string) =>
      (await part(query)).text
        .trim()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line).message_id)
        .sort();
    assert.deepEqual(await reviewed(`app_id=${other.ids.app}`), []);
    assert.deepEqual(await reviewed(`app_id=${one.ids.app}`), [disliked.id, failed.id, fine.id].sort());
    assert.deepEqual(await reviewed(`app_id=${one.ids.app}&from=${now - 20}`), [disliked.id, failed.id].sort());
  });

  it('400: a record whose message or app is another one', async () => {
    const load = (fields: object) =>
      service.as(admin).append({
        record: 'review',
        app_id: one.ids.app,
        conversation_id: conversation,
        message_id: fine.id,
        ...fields,
      });
    assert.match((await load({ message_id: randomUUID() })).body.message, /line 1: review: message_id does not exist/);
    assert.match((await load({ app_id: other.ids.app })).body.message, /line 1: review: app_id/);
    assert.match((await load({ note: '😀'.repeat(5_001) })).body.message, /line 1: review: note/);
    assert.equal((await load({ state: 'ignored' })).status, 200);
    assert.ok((await ids('state=ignored')).includes(fine.id));
  });

  it('the feed has reviews, for keys of the workspace or app, until they are erased', async () => {
    const changes = async (key: string, path = '/admin/changes?kinds=review') => {
      const { status, body, text } = await service.as(key).get(path);
      assert.equal(status, 200, text);
      return body.data;
    };
    const found = await changes(one.keys.feed);
    const entry = found.find(({ id }: { id: string }) => id === failed.id);
    assert.deepEqual(entry.path, {
      ...{ workspace_id: one.ids.workspace, app_id: one.ids.app, conversation_id: conversation, user: 'ann' },
      message_id: failed.id,
    });
    assert.deepEqual([entry.record.record, entry.record.state, entry.gone], ['review', 'ignored', false]);
    assert.deepEqual(await changes(other.keys.feed), []);
    const { cursor } = found.at(-1);
    const erased = await service.as(admin).delete(pathOf(failed).replace(/\/review$/, ''));
    assert.equal(erased.status, 204, erased.text);
    const gone = await changes(one.keys.feed, `/admin/changes?kinds=review&after=${cursor}`);
    assert.deepEqual(
      gone.map((one: { id: string; gone: boolean; record: unknown }) => [one.id, one.gone, one.record]),
      [[failed.id, true, null]],
    );
    await service.as(admin).post('/admin/purge', { conversation_id: conversation });
    assert.equal((await service.as(admin).get('/admin/records?kinds=review')).text, '');
    assert.deepEqual(await ids(), [elsewhere.id]);
  });
});
