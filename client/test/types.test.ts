import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { readDocument, renderTypes, typesPath } from '../scripts/types.ts';

const source = new URL('../src/', import.meta.url);
const files = readdirSync(source).map((name) => ({ name, text: readFileSync(new URL(name, source), 'utf8') }));

describe('the source', () => {
  it('has the types of openapi.json (`npm run types` generates them)', () => {
    assert.equal(readFileSync(typesPath, 'utf8'), renderTypes(readDocument()));
  });

  it('exports all of these types', () => {
    const types = files.find(({ name }) => name === 'types.ts')?.text ?? '';
    const rendered = [...types.matchAll(/^export type (\w+)/gm)].map(([, name]) => name);
    const index = files.find(({ name }) => name === 'index.ts')?.text ?? '';
    const [, given = ''] = /^export type \{([^}]*)\} from '\.\/types\.ts';$/m.exec(index) ?? [];
    assert.ok(rendered.length > 15);
    assert.deepEqual(given.match(/\w+/g)?.sort(), rendered.sort());
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
