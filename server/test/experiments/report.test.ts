import assert from 'node:assert/strict';
import { it } from 'node:test';
import { tableOf, withRows } from './report.ts';

const row = (experiment: string, measured: string) => ({ experiment, promise: 'p', measured, holds: true });
const pageOf = (text: string, ...rows: ReturnType<typeof row>[]) =>
  `# Title\n<!-- torture: start -->\n${text}\n\n${tableOf(rows)}\n<!-- torture: end -->\nrest\n`;
const before = pageOf('in May', row('one', '1'), row('two', '1'), row('two', '2'), row('three', '1'));

it('a run of all experiments replaces the table', () => {
  assert.equal(withRows(before, [row('one', '3')], 'in June'), pageOf('in June', row('one', '3')));
});

it('a run of some experiments replaces only their rows, and says when', () => {
  const rows = [row('two', '3'), row('four', '3')];
  const expected = [row('one', '1'), ...rows, row('three', '1')];
  const text = 'in May\n\n`two`, `four`: in June';
  assert.equal(withRows(before, rows, 'in June', ['two', 'four']), pageOf(text, ...expected));
  const added = pageOf(
    'in May\n\n`five`: in June',
    row('one', '1'),
    row('two', '1'),
    row('two', '2'),
    row('three', '1'),
    row('five', '1'),
  );
  assert.equal(withRows(before, [row('five', '1')], 'in June', ['five']), added);
});
