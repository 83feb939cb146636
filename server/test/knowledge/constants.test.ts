import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { it } from 'node:test';
import {
  constantsOf,
  KnowledgeBase,
  KnowledgeDocument,
  KnowledgeSegment,
  SingleDocument,
} from '../../src/contract/knowledge.ts';

const file = new URL('../../../docs/use/knowledge-bases.md', import.meta.url);

function table(): string {
  const objects = {
    'knowledge base': KnowledgeBase,
    'document in a list': KnowledgeDocument,
    'single document': SingleDocument,
    segment: KnowledgeSegment,
  };
  const rows = Object.entries(objects).flatMap(([name, schema]) =>
    Object.entries(constantsOf(schema)).map(
      ([field, value]) => `| ${name} | \`${field}\` | \`${JSON.stringify(value)}\` |`,
    ),
  );
  return ['| object | field | value |', '|---|---|---|', ...rows].join('\n');
}

it('docs/use/knowledge-bases.md lists every constant; WRITE_DOCS=1 updates it', () => {
  const text = readFileSync(file, 'utf8');
  const part = /<!-- constants -->\n(?:.*\n)*<!-- \/constants -->/;
  assert.match(text, part);
  const expected = text.replace(part, () => `<!-- constants -->\n${table()}\n<!-- /constants -->`);
  if (process.env.WRITE_DOCS) writeFileSync(file, expected);
  assert.equal(readFileSync(file, 'utf8'), expected);
});
