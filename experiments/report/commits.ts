import { execFileSync } from 'node:child_process';

const git = (...args: string[]): string =>
  execFileSync('git', args, { encoding: 'utf8', cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'ignore'] }).trim();

export const headCommit = (): string =>
  git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain', '-uno') ? ' with changes' : '');

/** Commits since that one; undefined if it is not in this repository, or if there is none. */
export function commitsSince(commit: string): number | undefined {
  try {
    return Number(git('rev-list', '--count', `${commit}..HEAD`));
  } catch {
    return undefined;
  }
}

/** Whether all commits are here: not in a copy without its history. */
export function hasHistory(): boolean {
  try {
    return git('rev-parse', '--is-shallow-repository') === 'false';
  } catch {
    return false;
  }
}
