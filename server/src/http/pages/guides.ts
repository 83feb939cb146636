import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';

/** A guide of the documentation: its name in addresses, its group, its title, and its text in Markdown. */
export type Guide = { name: string; group: string; title: string; text: string };

/** Folders of `docs/` with guides for those who use the service. */
const groups = { use: 'Guides: use', run: 'Guides: run', integrate: 'Guides: integrate' };

/** The npm package contains the guides in one file; a checkout contains their Markdown. */
export const packedGuides = new URL('../../web/guides.json', import.meta.url);
const checkout = new URL('../../../../docs/', import.meta.url);

export async function readGuides(): Promise<Guide[]> {
  if (existsSync(packedGuides)) return JSON.parse(await readFile(packedGuides, 'utf8'));
  const guides: Guide[] = [];
  for (const [folder, group] of Object.entries(groups)) {
    const names = (await readdir(new URL(folder, checkout))).filter((name) => name.endsWith('.md'));
    for (const file of names.sort()) {
      const text = await readFile(new URL(`${folder}/${file}`, checkout), 'utf8');
      const title = /^# (.+)$/m.exec(text)?.[1] ?? file;
      guides.push({ name: file.slice(0, -'.md'.length), group, title, text });
    }
  }
  return guides;
}

/** What a language model reads first: where everything is, as https://llmstxt.org proposes. */
export function llmsText(guides: readonly Guide[]): string {
  const links = guides.map(({ name, title }) => `- [${title}](/docs/${name}.md)\n`).join('');
  return `# Backscroll

> A self-hosted server for AI chat applications: it stores message history and the chunks of knowledge bases, and serves them through an HTTP JSON API.

Operations are under \`/v1\` with a key as \`Authorization: Bearer KEY\`. Keys of kind app read conversations, knowledge keys edit child
chunks, writer keys append messages at \`POST /admin/records\`, feed keys follow changes, admin keys do everything else.

## API

- [OpenAPI document](/openapi.json): every operation with examples, errors (\`x-errors\`) and fields of records (\`x-records\`)
- [Reference](/docs): the same for people

## Guides

${links}`;
}
