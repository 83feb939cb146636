import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { call, newFolder, newScope } from '../support/cli-helpers.ts';
import { makeTwoTenants, message, newMigratedUrl, onEveryEngine, parseLines, useService } from '../support/harness.ts';

const header =
  'conversation_id,message_id,created_at,user,query,answer,status,error,rating,feedback,message_tokens,answer_tokens,' +
  'total_price,currency,latency,provider,model\r\n';

onEveryEngine('exports with filters', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const conversation = { record: 'conversation', id: randomUUID(), app_id: one.ids.app, user: '=eve', created_at: 1 };
  const rated = message(conversation.id, 1_769_817_600, {
    ...{ query: 'a "b", c\nd', answer: '@SUM(1)', status: 'error', error: '-', feedback: { rating: 'dislike' } },
    ...{ feedback_content: '\tno', message_tokens: 3, answer_tokens: 4, total_price: '0.0010', currency: 'USD' },
    ...{ provider_response_latency: 1.25, model_provider: 'harbour/lantern', model: 'lantern-large' },
  });
  const far = message(conversation.id, Number.MAX_SAFE_INTEGER);
  const review = {
    ...{ record: 'review', app_id: one.ids.app, conversation_id: conversation.id, message_id: rated.id, state: 'done' },
    ...{ labels: ['tone'], expected_answer: '4111 1111 1111 1111', updated_at: 1 },
  };
  const service = useService(engine, [...records, conversation, rated, far, review]);
  const get = (path: string, key = admin) => service.as(key).get(path);

  it('200: CSV with a header, quoted cells and no formulas', async () => {
    const { status, text, headers } = await get('/admin/messages.csv?user=%3Deve');
    assert.equal(status, 200, text);
    assert.equal(headers['content-type'], 'text/csv; charset=utf-8; header=present');
    assert.equal(
      text,
      `${header}${conversation.id},${rated.id},2026-01-31T00:00:00Z,'=eve,"a ""b"", c\nd",'@SUM(1),error,'-,dislike,'\tno,3,4,` +
        `0.0010,USD,1.25,harbour/lantern,lantern-large\r\n` +
        `${conversation.id},${far.id},9999-12-31T23:59:59Z,'=eve,q,a,normal,,,,0,0,,,0,,\r\n`,
    );
    assert.equal((await get('/admin/messages.csv?user=nobody')).text, header);
    const head = await service.request('HEAD', '/admin/messages.csv', { key: admin });
    assert.deepEqual([head.status, head.text], [200, '']);
  });

  it('200: CSV keeps numbers, and has no formula for readers with other signs and separators', async () => {
    const talk = { ...conversation, id: randomUUID(), user: 'formulas' };
    const texts = {
      '＝1': "'＝1",
      '＋1': "'＋1",
      '－1': "'－1",
      '＠a': "'＠a",
      '\n=1': `"'\n=1"`,
      'a; =1;b;-c': `"a; '=1;b;'-c"`,
      'a;"+b': `"a;""'+b"`,
      'a;b': '"a;b"',
      'a=1, b': '"a=1, b"',
      '-5': '-5',
      '-5%': "'-5%",
    };
    const priced = { total_price: '-0.25', currency: 'USD' };
    const messages = Object.keys(texts).map((query, nth) => message(talk.id, nth, { query, answer: '', ...priced }));
    await service.load([talk, ...messages]);
    const { text } = await get('/admin/messages.csv?user=formulas');
    for (const [nth, [query, cell]] of Object.entries(texts).entries()) {
      const row = `1970-01-01T00:00:${String(nth).padStart(2, '0')}Z,formulas,${cell},,normal,,,,0,0,-0.25,USD,0,,\r\n`;
      assert.ok(text.includes(row), query);
    }
  });

  it('200: kinds alone select whole kinds, keys too; with another filter there are never keys', async () => {
    const kindsOf = async (query: string) => {
      const lines = parseLines((await get(`/admin/records?${query}`)).text);
      return [...new Set(lines.map(({ record }) => record))];
    };
    assert.deepEqual(await kindsOf('kinds=api_key'), ['api_key']);
    assert.deepEqual(await kindsOf('kinds=message,dataset'), ['dataset', 'message']);
    assert.deepEqual(await kindsOf(`app_id=${one.ids.app}`), ['workspace', 'app', 'conversation', 'message', 'review']);
    const { status, body } = await get(`/admin/records?app_id=${one.ids.app}&kinds=message,api_key`);
    assert.equal(status, 400);
    assert.match(body.message, /^kinds must be of workspace, app, conversation, message/);
  });

  it('the command line writes the same', async (t) => {
    const scope = newScope();
    t.after(() => scope.end());
    const cwd = await newFolder(scope);
    const { url, remove } = await newMigratedUrl(engine);
    scope.after(remove);
    const command = (args: string[], stdin = '') => call(args, { cwd, env: { DATABASE_URL: url }, stdin });
    const all = (await get('/admin/records')).text;
    assert.equal((await command(['import', '-'], all)).code, 0);
    const options = ['--app', one.ids.app, '--user', '=eve', '--from', '2026-01-31', '--to', '2026-01-31T00:00:01Z'];
    const filters = `app_id=${one.ids.app}&user=%3Deve&from=1769817600&to=1769817601`;
    const exported = await command(['export', ...options]);
    assert.equal(exported.code, 0, exported.stderr);
    assert.equal(exported.stdout, (await get(`/admin/records?${filters}`)).text);
    assert.equal(exported.stdout.trim().split('\n').length, 5);
    const csv = await command(['export', '--format', 'csv', '--conversation', conversation.id, '--to', '1769817601']);
    assert.equal(csv.stdout, (await get(`/admin/messages.csv?conversation_id=${conversation.id}&to=1769817601`)).text);
    const evals = ['export', '--format', 'evals', '--app', one.ids.app, '--label', 'tone'];
    assert.match((await command(evals)).stdout, /"input":"a \\"b\\", c\\nd".*4111 1111/);
    assert.match((await command([...evals, '--redact'])).stdout, /"value":"\[card\]"/);
    const kinds = await command(['export', '--kinds', 'workspace']);
    assert.equal(kinds.stdout, (await get('/admin/records?kinds=workspace')).text);
    for (const wrong of [
      ['--from', 'soon'],
      ['--from', '2026-02-30'],
      ['--format', 'xml'],
      ['--format', 'csv', '--kinds', 'message'],
      ['--format', 'csv', '--redact'],
      ['--format', 'evals', '--user', 'ann'],
      ['--label', 'x'],
      ['--kinds', 'x'],
    ]) {
      const { code, stderr } = await command(['export', ...wrong]);
      assert.notEqual(code, 0, stderr);
    }
    const missing = await command(['export', '--app', randomUUID()]);
    assert.deepEqual([missing.code, missing.stdout], [1, '']);
  });
});
