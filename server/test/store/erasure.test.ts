import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { purgeUnderLoad } from '../../../experiments/erasure.ts';
import { findText } from '../erasure/stored-texts.ts';
import { call, newFolder } from '../support/cli-helpers.ts';
import { makeTwoTenants, message, ndjson, newMigratedUrl } from '../support/harness.ts';
import { itLong } from '../support/long.ts';

describe('erasure', { concurrency: 2 }, () => {
  // In `npm test`, cli/cli.test.ts purges while another process reads.
  itLong('leaves no byte in the file, its log, an export or a backup, under concurrent reads and writes', async () => {
    const findings = await purgeUnderLoad({ users: 8, messages: 500, rounds: 4, readers: 2 });
    assert.deepEqual(
      findings.filter(({ holds }) => !holds),
      [],
    );
  });

  it('leaves no row on PostgreSQL, not even of deleted conversations', async (t) => {
    const cwd = await newFolder(t);
    const { url, remove } = await newMigratedUrl('postgres');
    const env = { DATABASE_URL: url };
    const { one, other, records } = makeTwoTenants();
    const marker = 'the-marker-of-ann';
    const conversation = (id: string, app_id: string, deleted: boolean) => ({
      record: 'conversation',
      id,
      app_id,
      user: marker,
      deleted,
    });
    const stdin = ndjson([
      ...records,
      conversation(one.ids.conversation, one.ids.app, true),
      message(one.ids.conversation, 1, { query: marker, inputs: { [marker]: marker } }),
      message(other.ids.conversation, 1, { query: 'other text' }),
    ]);
    assert.equal((await call(['import', '-'], { cwd, env, stdin })).code, 0);
    t.after(remove);
    const tablesWith = (text: string) => findText(url, text);
    assert.deepEqual(await tablesWith(marker), ['conversations', 'messages']);
    const { code, stdout } = await call(['purge', '--app', one.ids.app, '--user', marker, '--yes'], { cwd, env });
    assert.deepEqual([code, stdout], [0, 'erased 1 conversation with 1 message\n']);
    assert.deepEqual(await tablesWith(marker), []);
    assert.deepEqual(await tablesWith('other text'), ['conversations', 'messages']);
  });
});
