import type { Finding } from './support/experiment.ts';

export type Row = Finding & { experiment: string };

const [start, end] = ['<!-- torture: start -->\n', '\n<!-- torture: end -->'];
const head = ['| experiment | promise | measured | |', '|---|---|---|---|'].join('\n');
const lineOf = ({ experiment, promise, measured, holds }: Row): string =>
  `| ${experiment} | ${promise} | ${measured} | ${holds ? 'holds' : '**fails**'} |`;

export const tableOf = (rows: readonly Row[]): string => [head, ...rows.map(lineOf)].join('\n');

/**
 * The page with new rows. `about` says when, where and on which commit they were measured. If only some experiments ran, the rows of
 * the others stay, and so does what the page says about them.
 */
export function withRows(page: string, rows: readonly Row[], about: string, only?: readonly string[]): string {
  const [from, to] = [page.indexOf(start) + start.length, page.indexOf(end)];
  const [before, after] = [page.slice(0, from), page.slice(to)];
  if (only === undefined) return `${before}${about}\n\n${tableOf(rows)}${after}`;
  const [text = '', table = ''] = page.slice(from, to).split(`${head}\n`);
  const names = only.map((name) => `\`${name}\``).join(', ');
  const lines = table.split('\n');
  const isReplaced = (line: string) => only.some((name) => line.startsWith(`| ${name} |`));
  const first = lines.findIndex(isReplaced);
  const kept = (part: string[]) => part.filter((line) => !isReplaced(line));
  const at = first === -1 ? lines.length : first;
  const merged = [...kept(lines.slice(0, at)), ...rows.map(lineOf), ...kept(lines.slice(at))];
  return `${before}${text.trimEnd()}\n\n${names}: ${about}\n\n${head}\n${merged.join('\n')}${after}`;
}
