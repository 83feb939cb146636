import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Installation } from '../../../experiments/support/installation.ts';
import { compareExport, Ledger, replacementRecords } from '../../../experiments/support/ledger.ts';
import { message, ndjson } from '../support/harness.ts';

const chunks = [
  { id: 'single writer', path: '' },
  { id: 'shared', path: '' },
];

/** A ledger, and the records of an export that matches it. */
function makeMatchingExport() {
  const ledger = new Ledger({ chunks } as Installation);
  for (const edits of ledger.edits) Object.assign(edits, { sent: 3, acknowledged: [1, 2] });
  Object.assign(ledger.overHttp, { sent: 2, acknowledged: [1] });
  ledger.appends.push(
    { name: 'append', size: 2, acknowledged: true },
    { name: 'not stored', size: 2, acknowledged: false },
  );
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
    ...(replacementRecords(ledger.overHttp, 'c', 1) as Record<string, unknown>[]),
  ];
  return { ledger, records };
}

/** Compares the ledger with an export in which one record is changed or left out. */
function compareAltered(choose: (record: Record<string, unknown>) => boolean, change?: object) {
  const { ledger, records } = makeMatchingExport();
  const at = records.findIndex(choose);
  assert.notEqual(at, -1);
  records.splice(at, 1, ...(change === undefined ? [] : [{ ...records[at], ...change }]));
  const { lost, torn } = compareExport(ledger, ndjson(records));
  return { lost: lost.length > 0, torn: torn.length > 0 };
}

describe('comparing an export with the ledger', () => {
  it('finds nothing in a complete export', () => {
    const { ledger, records } = makeMatchingExport();
    assert.deepEqual(compareExport(ledger, ndjson(records)), { lost: [], torn: [] });
  });

  for (const [what, choose, change, expected] of [
    ['a lost text', { content: 'text 1' }, undefined, 'lost'],
    ['an older text as the current one', { record: 'child_chunk' }, { content: 'text 1' }, 'lost'],
    ['a text that is stored twice', { content: 'text 0' }, { content: 'text 1' }, 'torn'],
    ['a text that was never sent', { record: 'child_chunk' }, { content: 'text 4' }, 'torn'],
    ['a partial append', { query: 'append' }, undefined, 'torn'],
    ['a partial import', { query: 'text 1' }, undefined, 'torn'],
    ['a mixture of two imports', { query: 'text 1' }, { query: 'text 2' }, 'torn'],
    ['a lost key', { record: 'api_key' }, undefined, 'lost'],
    ['a lost revocation', { record: 'api_key' }, { revoked_at: null }, 'lost'],
  ] as const) {
    it(`finds ${what}`, () => {
      const matches = (record: Record<string, unknown>) =>
        Object.entries(choose).every(([name, value]) => record[name] === value);
      assert.equal(compareAltered(matches, change)[expected], true);
    });
  }
});
