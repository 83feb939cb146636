import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { browserModule } from '../src/http/pages/browser-module.ts';
import { readGuides } from '../src/http/pages/guides.ts';

/** Writes the pages and the guides into the build, converted by the function that serves them from a checkout. */
const from = new URL('../../web/', import.meta.url);
const to = new URL('../dist/web/', import.meta.url);

for (const folder of ['shared', 'console', 'docs']) {
  mkdirSync(new URL(`${folder}/`, to), { recursive: true });
  const entries = readdirSync(new URL(`${folder}/`, from), { recursive: true, withFileTypes: true });
  for (const { name, parentPath } of entries.filter((one) => one.isFile())) {
    const text = readFileSync(join(parentPath, name), 'utf8');
    const target = new URL(`${folder}/${name.replace(/\.ts$/, '.js')}`, to);
    writeFileSync(target, name.endsWith('.ts') ? browserModule(text) : text);
  }
}

writeFileSync(new URL('guides.json', to), JSON.stringify(await readGuides()));
