import { mkdirSync, writeFileSync } from 'node:fs';
import { buildPages } from '../../web/build.ts';
import { readGuides } from '../src/http/pages/guides.ts';

/** Writes the pages as they are served, and the guides, into the build. */
const to = new URL('../dist/web/', import.meta.url);

const pages = await buildPages();
for (const [name, { files }] of Object.entries(pages)) {
  mkdirSync(new URL(`${name}/`, to), { recursive: true });
  for (const [file, bytes] of files) writeFileSync(new URL(`${name}/${file}`, to), bytes);
}
writeFileSync(
  new URL('pages.json', to),
  JSON.stringify(pages, (key, value) => (key === 'files' ? undefined : value)),
);
writeFileSync(new URL('guides.json', to), JSON.stringify(await readGuides()));
