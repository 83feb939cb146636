import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { recordKinds, records } from '../../src/contract/record.ts';
import { repository } from '../support/cli-helpers.ts';
import { recordExamplesFile } from '../support/example-requests.ts';
import { startService } from '../support/harness.ts';

const page = readFileSync(join(repository, 'docs', 'use', 'records.md'), 'utf8');

/** The text under the heading of each kind of record. */
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf('\n')).replaceAll('`', ''), section]),
);

describe('docs/use/records.md', () => {
  it('lists the fields of every kind of record, and which are required', () => {
    for (const kind of recordKinds) {
      const rows = [...(sections.get(kind) ?? '').matchAll(/^\| `(\w+)` \| .* \| (.+) \|$/gm)];
      const { properties, required = [] } = records[kind] as { properties: object; required?: string[] };
      const isField = (name: string) => name !== 'record';
      assert.deepEqual(rows.map(([, name]) => name).sort(), Object.keys(properties).filter(isField).sort(), kind);
      const documented = rows.filter(([, , value]) => value === 'required').map(([, name]) => name);
      assert.deepEqual(documented.sort(), required.filter(isField).sort(), kind);
    }
  });

  it('has the examples that the reference page shows (`npm run openapi` copies them)', () => {
    const examples: Record<string, object> = JSON.parse(readFileSync(recordExamplesFile, 'utf8'));
    assert.deepEqual(Object.keys(examples).sort(), recordKinds.toSorted());
    for (const [kind, example] of Object.entries(examples))
      assert.ok(sections.get(kind)?.includes(JSON.stringify(example)), kind);
  });

  it('names every field of the nested objects', () => {
    const fieldsOf = (schema: object): string[] =>
      Object.entries(schema).flatMap(([name, value]) => [
        ...(name === 'properties' ? Object.keys(value) : []),
        ...(typeof value === 'object' && value !== null ? fieldsOf(value) : []),
      ]);
    for (const kind of ['message', 'model_provider'] as const) {
      const missing = fieldsOf(records[kind]).filter((field) => !sections.get(kind)?.includes(`\`${field}\``));
      assert.deepEqual(missing, ['record'], kind);
    }
  });

  it('has one example of each kind, and all of them import', async (t) => {
    const examples = [...page.matchAll(/^```json\n(.*)\n```$/gm)].map(([, line = '']) => JSON.parse(line));
    assert.deepEqual(examples.map(({ record }) => record).sort(), recordKinds.toSorted());
    const service = await startService('sqlite');
    t.after(() => service.close());
    assert.equal(await service.load(examples), examples.length);
  });
});
