import assert from 'node:assert/strict';
import { callLargeOperations } from '../../../experiments/large/operations.ts';
import { itLong } from '../support/long.ts';

itLong('each operation with large records holds no health check, and needs little memory', async (t) => {
  const only = [
    ...['getConversations', 'exportRecords', 'listChanges', 'listSegments', 'getRetention'],
    'openaiListConversations',
  ];
  const options = { engine: 'sqlite', records: 4, recordBytes: 2 ** 21, only } as const;
  const findings = await callLargeOperations(options, (line) => t.diagnostic(line));
  for (const { promise, measured, holds } of findings) {
    t.diagnostic(`${promise}: ${measured}`);
    // Times are for the experiment.
    if (!promise.includes('processor time')) assert.ok(holds, `${promise}: ${measured}`);
    else assert.match(measured, /^6 operations, 0 without/);
  }
});
