import assert from 'node:assert/strict';
import { it } from 'node:test';
import { personId } from '../../src/domain/author.ts';
import { call, newFolder, oneLine } from '../support/cli-helpers.ts';
import { describeOnOneEngine, engines, makeTwoTenants, newMigratedUrl, startService } from '../support/harness.ts';
import { until } from '../support/until.ts';

const identity = { issuer: 'https://id.example', subject: 'ann' };
const id = personId(identity);

for (const engine of engines)
  describeOnOneEngine(engine, `backscroll people, and audit --reads [${engine}]`, () => {
    it('list, block, unblock and end; reads of a user', async (t) => {
      const { url, remove } = await newMigratedUrl(engine);
      t.after(remove);
      const { one, admin, records } = makeTwoTenants();
      const service = await startService(engine, {}, url);
      const evil = 'Ann \u001b[31m';
      await service.load([...records, { record: 'person', ...identity, name: evil, role: 'editor' }]);
      await service.as(admin).get(`/admin/apps/${one.ids.app}/conversations/${one.ids.conversation}/messages`);
      const noted = async () => (await service.as(admin).get('/admin/reads')).body.data.length;
      await until(async () => (await noted()) === 1);
      await service.close();
      const cwd = await newFolder(t);
      const backscroll = (...args: string[]) => call(args, { cwd, env: { DATABASE_URL: url } });
      const listed = async () => JSON.parse((await backscroll('people', 'list', '--json')).stdout);
      assert.partialDeepStrictEqual(await listed(), { id, name: evil, role: 'editor', blocked: false, sessions: 0 });
      for (const [action, blocked, said] of [
        ['block', true, 'blocked'],
        ['unblock', false, 'unblocked'],
        ['end', false, 'signed out'],
      ] as const) {
        const { code, stdout, stderr } = await backscroll('people', action, id);
        assert.deepEqual([code, stdout, stderr], [0, `${said} Ann \\u001b[31m (${id})\n`, '']);
        assert.equal((await listed()).blocked, blocked);
      }
      await backscroll('people', 'block', id);
      assert.match((await backscroll('people', 'list')).stdout, /editor, blocked/);
      for (const [args, code, line] of [
        [['people'], 2, /people needs list, end, block or unblock/],
        [['people', 'shun'], 2, /unknown command 'people shun'/],
        [['people', 'end'], 2, /needs the ID of a person/],
        [['people', 'end', 'x'], 1, /person not found/],
        [['audit', '--user', 'ann'], 2, /--user requires --reads/],
        [['export', '--reads'], 2, /--reads requires --user/],
        [['export', '--reads', '--user', 'ann', '--format', 'csv'], 2, /--reads must be absent with --format csv/],
        [['audit', '--reads', '--id', 'x'], 2, /not allowed with --reads/],
      ] as const) {
        const failed = await backscroll(...args);
        assert.equal(failed.code, code);
        assert.match(failed.stderr, oneLine);
        assert.match(failed.stderr, line);
      }
      const table = (await backscroll('audit', '--reads', '--user', 'ann')).stdout.split('\n');
      assert.match(
        table[1] ?? '',
        new RegExp(`admin \\(.*getTranscript +conversation ${one.ids.conversation} of ann in app`),
      );
      assert.equal((await backscroll('audit', '--reads', '--user', 'bob', '--json')).stdout, '');
      assert.match((await backscroll('audit', '--reads', '--json')).stdout, /"operation":"getTranscript"/);
      const copy = (await backscroll('export', '--user', 'ann', '--reads')).stdout;
      assert.match(copy, /\n\{"read":\{"id":"[^\n]*"operation":"getTranscript"[^\n]*\n$/);
      assert.match((await backscroll('audit', '--limit', '1')).stdout, /command line +update +1 person/);
    });
  });
