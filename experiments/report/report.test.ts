import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { commitsSince, hasHistory } from './commits.ts';
import { experimentsIn, type Run, tableOf, withOldRunsMarked, withRows, withRuns } from './report.ts';

const run = (experiment: string, measured: string, promises = 1): Run => ({
  experiment,
  about: '2026-06-01, commit abc1234, 2 cores',
  seconds: 100,
  findings: Array.from({ length: promises }, () => ({ promise: 'p', measured, holds: true })),
});
const pageOf = (...runs: Run[]) => `# Title\n\n${tableOf(runs)}\n<!-- torture: end -->\nrest\n`;
const before = pageOf(run('one', '1'), run('two', '1', 2), run('three', '1'));
const table = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

describe('the report of the experiments', () => {
  it('has the rows of the experiments that ran, and keeps the others', () => {
    const after = pageOf(run('one', '1'), run('two', '3'), run('three', '1'));
    assert.equal(withRows(before, [run('two', '3')]), after);
    assert.equal(
      withRows(after, [run('five', '1')]),
      pageOf(run('one', '1'), run('two', '3'), run('three', '1'), run('five', '1')),
    );
  });

  it('says in the table of experiments when each one ran, for how long, and how many promises held', () => {
    const lines = [
      '| experiment | shows | takes | last run |',
      '|---|---|---|---|',
      '| `one` | x | | not yet |',
      '| `two` | y | 5 s | z |',
    ];
    const after = lines.toSpliced(2, 1, '| `one` | x | 2 min | 2026-06-01, commit abc1234, 2 cores: 1 of 1 hold |');
    assert.equal(withRuns(lines.join('\n'), [run('one', '1')]), after.join('\n'));
    const old = after.toSpliced(2, 1, `${after[2]?.slice(0, -2)} (old) |`).join('\n');
    const current = (count: number | undefined) => withOldRunsMarked(after.join('\n'), () => count);
    assert.deepEqual([current(50), current(51), current(undefined)], [after.join('\n'), old, old]);
    assert.equal(
      withOldRunsMarked(old, () => 51),
      old,
    );
  });
});

describe('the table of experiments', () => {
  it('names every experiment, and no other', () => {
    const files = globSync('**/*.ts', { cwd: new URL('..', import.meta.url) });
    const names = files.flatMap((file) => {
      const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
      return [...text.matchAll(/: Experiment = \{\s*name: '([\w-]+)'/g)].map(([, name = '']) => name);
    });
    assert.ok(names.length > 15);
    assert.deepEqual(experimentsIn(table).sort(), names.sort());
  });

  it('marks each run that is more than 50 commits old: npm run torture -- --mark does', () => {
    if (hasHistory()) assert.equal(withOldRunsMarked(table, commitsSince), table);
  });
});
