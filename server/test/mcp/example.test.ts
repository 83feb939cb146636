import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, it } from 'node:test';
import { makeSecret } from '../../src/domain/secret.ts';
import { repository } from '../support/cli-helpers.ts';
import { onOneEngine, parseLines, type Service, useService } from '../support/harness.ts';
import { itLong } from '../support/long.ts';

const workspace_id = 'f2ea4643-6eeb-4dc8-8414-6734b1461808';

async function runExample(service: Service, key: string, ...args: string[]) {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const example = spawn(process.execPath, [join(repository, 'examples', 'agent', 'agent.ts'), ...args], {
    env: { PATH, NODE_COMPILE_CACHE, BACKSCROLL_URL: service.base, BACKSCROLL_KEY: key },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  example.stdout.on('data', (text) => (output.stdout += text));
  example.stderr.on('data', (text) => (output.stderr += text));
  const [code] = await once(example, 'close');
  return { code, ...output };
}

onOneEngine('the example of an agent', (engine) => {
  const reader = makeSecret('admin');
  const editor = makeSecret('knowledge');
  const service = useService(engine);
  before(async () => {
    const starter = readFileSync(join(repository, 'server', 'starter', 'records.ndjson'), 'utf8');
    await service.load([
      ...parseLines(starter),
      { record: 'api_key', kind: 'admin', name: 'reader', secret: reader, read_only: true },
      { record: 'api_key', kind: 'knowledge', workspace_id, name: 'editor', secret: editor },
    ]);
    await service.index();
  });

  it('finds the disliked answer of the starter records and its chunks, proposes an edit and saves it', async () => {
    const found = await runExample(service, reader);
    assert.deepEqual([found.code, found.stderr], [0, '']);
    assert.match(found.stdout, /^1 disliked answer$/m);
    assert.match(found.stdout, /^question: My foam has huge bubbles/m);
    const [, chunk = ''] = /^chunk: +(\S+)\n +Backflush with plain water/m.exec(found.stdout) ?? [];
    assert.match(chunk, /^[\w-]{36}(?:\/[\w-]{36}){3}$/);
    const text = 'Backflush with plain water twice a week.';
    const proposed = await runExample(service, reader, chunk, text);
    assert.match(proposed.stdout, /^proposed: Backflush .*\nThe key is read-only, so nothing was saved\.$/m);
    const saved = await runExample(service, editor, chunk, text);
    assert.deepEqual([saved.code, saved.stderr], [0, '']);
    assert.match(saved.stdout, /^saved: +Backflush with plain water \[-once-\]\{\+twice\+\} a week/m);
    const [entry] = (await service.store.listAudit({ action: 'update', limit: 1 })).entries;
    assert.equal(entry?.tool, 'update_chunk');
  });

  itLong('ends with an error if the key is not valid', async () => {
    const { code, stderr } = await runExample(service, makeSecret('admin'));
    assert.notEqual(code, 0);
    assert.match(stderr, /401|[Uu]nauthorized/);
  });
});
