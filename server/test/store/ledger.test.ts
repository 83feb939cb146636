import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Installation } from '../../torture/support/installation.ts';
import { audit, Ledger, replacing } from '../../torture/support/ledger.ts';
import { message, ndjson } from '../support/harness.ts';

const chunks = [
  { id: 'alone', path: '' },
  { id: 'shared', path: '' },
];

/** What clients were told, and an export that agrees with it. */
function agree() {
  const ledger = new Ledger({ chunks } as Installation);
  for (const edits of ledger.edits) Object.assign(edits, { sent: 3, acknowledged: [1, 2] });
  Object.assign(ledger.overHttp, { sent: 2, acknowledged: [1] });
  ledger.appends.push({ name: 'append', size: 2, acknowledged: true }, { name: 'gone', size: 2, acknowledged: false });
  ledger.keys.push({ id: 'key', secret: 'app-secret', revocation: 'acknowledged' });
  const records: Record<string, unknown>[] = [
    ...chunks.flatMap(({ id }) => [
      { record: 'child_chunk', id, content: 'text 2' },
      { record: 'child_chunk_revision', child_chunk_id: id, revision: 1, content: 'text 0' },
      { record: 'child_chunk_revision', child_chunk_id: id, revision: 2, content: 'text 1' },
    ]),
    { record: 'api_key', id: 'key', digest: createHash('sha256').update('app-secret').digest('hex'), revoked_at: 5 },
    message('c', 1, { query: 'append' }),
    message('c', 1, { query: 'append' }),
    ...(replacing(ledger.overHttp, 'c', 1) as Record<string, unknown>[]),
  ];
  return { ledger, records };
}

/** The same with one record changed, or left out. */
function found(choose: (record: Record<string, unknown>) => boolean, change?: object) {
  const { ledger, records } = agree();
  const at = records.findIndex(choose);
  assert.notEqual(at, -1);
  records.splice(at, 1, ...(change === undefined ? [] : [{ ...records[at], ...change }]));
  const { lost, torn } = audit(ledger, ndjson(records));
  return { lost: lost.length > 0, torn: torn.length > 0 };
}

describe('the audit after an experiment', () => {
  it('finds nothing where all is there', () => {
    const { ledger, records } = agree();
    assert.deepEqual(audit(ledger, ndjson(records)), { lost: [], torn: [] });
  });

  for (const [what, choose, change, expected] of [
    ['a text that is lost', { content: 'text 1' }, undefined, 'lost'],
    ['an older text that stands', { record: 'child_chunk' }, { content: 'text 1' }, 'lost'],
    ['a text that is there twice', { content: 'text 0' }, { content: 'text 1' }, 'torn'],
    ['a text that nobody sent', { record: 'child_chunk' }, { content: 'text 4' }, 'torn'],
    ['half an append', { query: 'append' }, undefined, 'torn'],
    ['half an import', { query: 'text 1' }, undefined, 'torn'],
    ['two imports, mixed', { query: 'text 1' }, { query: 'text 2' }, 'torn'],
    ['a key that is lost', { record: 'api_key' }, undefined, 'lost'],
    ['a revocation that is lost', { record: 'api_key' }, { revoked_at: null }, 'lost'],
  ] as const) {
    it(`finds ${what}`, () => {
      const matches = (record: Record<string, unknown>) =>
        Object.entries(choose).every(([name, value]) => record[name] === value);
      assert.equal(found(matches, change)[expected], true);
    });
  }
});
