import { readFileSync, writeFileSync } from 'node:fs';
import { settings } from '../src/config.ts';

const at = (path: string): URL => new URL(`../../${path}`, import.meta.url);
const page = at('docs/run/settings.md');
const begin = '<!-- settings: written by npm run settings -->\n';
const end = '<!-- end of settings -->';

const rows = Object.entries(settings).map(([key, { fallback, help }]) => ({ name: key.toUpperCase(), fallback, help }));

function table(): string {
  const lines = rows.map(({ name, fallback, help }) => {
    return `| \`${name}\` | ${fallback === undefined ? 'none' : `\`${fallback}\``} | ${help} |\n`;
  });
  return `| name | default | meaning |\n|---|---|---|\n${lines.join('')}`;
}

function envExample(): string {
  const entries = rows.map(({ name, fallback = '', help }) => {
    const text = help.replaceAll('`', '').replace(/^(?!PostgreSQL)./, (letter) => letter.toUpperCase());
    return `\n# ${text}.\n#${name}=${fallback}\n`;
  });
  return `# Copy to .env and edit. Lines that are commented out show the defaults.
# A value in the environment takes precedence over one in this file.
# Written by npm run settings.
${entries.join('')}`;
}

/** The files that follow from the settings, with the text that they should have. */
export function settingsFiles(): { path: URL; text: string }[] {
  const text = readFileSync(page, 'utf8');
  const from = text.indexOf(begin) + begin.length;
  const to = text.indexOf(end);
  if (from < begin.length || to < from) throw new Error('the page has no markers around the table of settings');
  return [
    { path: page, text: text.slice(0, from) + table() + text.slice(to) },
    { path: at('.env.example'), text: envExample() },
  ];
}

if (import.meta.main) for (const { path, text } of settingsFiles()) writeFileSync(path, text);
