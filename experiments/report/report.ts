import type { Finding } from '../support/experiment.ts';

/** A run of one experiment: `about` says when, on which commit and on what machine. */
export type Run = { experiment: string; about: string; seconds: number; findings: readonly Finding[] };
/** Commits since that one; undefined if it is not in the repository. */
export type CommitsSince = (commit: string) => number | undefined;

const commitsMax = 50;
const oldMark = ' (old)';
const head = ['| experiment | promise | measured | |', '|---|---|---|---|'].join('\n');
const end = '\n<!-- torture: end -->';

const linesOf = ({ experiment, findings }: Run): string[] =>
  findings.map(
    ({ promise, measured, holds }) => `| ${experiment} | ${promise} | ${measured} | ${holds ? 'holds' : '**fails**'} |`,
  );

export const tableOf = (runs: readonly Run[]): string => [head, ...runs.flatMap(linesOf)].join('\n');

/** The page of runs with new rows. Those of experiments that did not run stay. */
export function withRows(page: string, runs: readonly Run[]): string {
  const from = page.indexOf(head) + head.length + 1;
  const to = page.indexOf(end);
  const names = runs.map(({ experiment }) => `| ${experiment} |`);
  const isReplaced = (line: string) => names.some((name) => line.startsWith(name));
  const lines = page.slice(from, to).split('\n');
  const first = lines.findIndex(isReplaced);
  const at = first === -1 ? lines.length : first;
  const kept = (part: string[]) => part.filter((line) => !isReplaced(line));
  const merged = [...kept(lines.slice(0, at)), ...runs.flatMap(linesOf), ...kept(lines.slice(at))];
  return page.slice(0, from) + merged.join('\n') + page.slice(to);
}

/** The table of experiments with their last runs. */
export const withRuns = (table: string, runs: readonly Run[]): string =>
  mapRows(table, (name, cells) => {
    const run = runs.find(({ experiment }) => experiment === name);
    if (run === undefined) return cells;
    const held = run.findings.filter(({ holds }) => holds).length;
    const takes = run.seconds < 90 ? `${Math.round(run.seconds)} s` : `${Math.round(run.seconds / 60)} min`;
    return [...cells.slice(0, -2), takes, `${run.about}: ${held} of ${run.findings.length} hold`];
  });

/** The same table, in which runs that are too many commits old are marked. */
export const withOldRunsMarked = (table: string, commitsSince: CommitsSince): string =>
  mapRows(table, (_, cells) => {
    const last = cells.at(-1) ?? '';
    const commit = /commit (\w+)/.exec(last)?.[1];
    const isOld = commit !== undefined && (commitsSince(commit) ?? Number.POSITIVE_INFINITY) > commitsMax;
    return isOld && !last.endsWith(oldMark) ? [...cells.slice(0, -1), last + oldMark] : cells;
  });

const namedRow = /^\| `([\w-]+)` \|/;
export const experimentsIn = (table: string): string[] =>
  table.split('\n').flatMap((line) => namedRow.exec(line)?.[1] ?? []);

function mapRows(table: string, change: (name: string, cells: string[]) => string[]): string {
  const lines = table.split('\n').map((line) => {
    const name = namedRow.exec(line)?.[1];
    if (name === undefined) return line;
    const cells = line.split('|').slice(1, -1);
    return `|${change(
      name,
      cells.map((cell) => cell.trim()),
    )
      .map((cell) => (cell === '' ? ' ' : ` ${cell} `))
      .join('|')}|`;
  });
  return lines.join('\n');
}
