import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { readTypes } from '../scripts/types.ts';

const source = new URL('../src/', import.meta.url);
const files = readdirSync(source).map((name) => ({ name, text: readFileSync(new URL(name, source), 'utf8') }));

describe('the source', () => {
  it('exports the types that are generated from openapi.json', () => {
    const index = files.find(({ name }) => name === 'index.ts')?.text ?? '';
    assert.match(index, /^export type \* from '\.\/types\.ts';$/m);
    assert.ok((readTypes().match(/^export type /gm)?.length ?? 0) > 15);
  });

  it('imports only itself, and uses only web APIs', () => {
    assert.ok(files.length >= 5);
    for (const { name, text } of files) {
      const imported = [...text.matchAll(/\bfrom '([^']+)'|\bimport\(/g)].map(([, from]) => from ?? 'import()');
      assert.deepEqual(
        imported.filter((from) => !/^\.\/[\w-]+\.ts$/.test(from)),
        [],
        name,
      );
      assert.doesNotMatch(text, /\b(?:process|Buffer|require|Deno|Bun|window)\b\s*[.(]/, name);
    }
  });

  it('has no file over 300 lines except the generated one', () => {
    const long = files.filter(({ text }) => text.split('\n').length > 300).map(({ name }) => name);
    assert.deepEqual(
      long.filter((name) => name !== 'types.ts'),
      [],
    );
  });
});
