import type { Machine } from './machine.ts';
import { pairsDefault } from './pairs.ts';
import { type Result, reachesGoal } from './result.ts';

const head = ' #  verdict      ratio  quartiles      target  what';
const indent = ' '.repeat(head.indexOf('what'));
const rule = '─'.repeat(110);

/** The table for a terminal. Only ratios count for the verdict. */
export function tableOf(results: readonly Result[], machine: Machine, pairs: number): string {
  const { processor, cores, memory_gigabytes, system, node, commit } = machine;
  const lines = [
    `${processor}, ${cores} cores, ${memory_gigabytes} GB; ${system}; Node.js ${node}; commit ${commit}`,
    '',
    head,
    rule,
    results.map(rowOf).join('\n\n'),
    rule,
    `${summary(results)} Ratios are medians of ${pairs} interleaved pairs; other measurements depend on the machine.`,
  ];
  if (pairs < pairsDefault) lines.push(`Fewer than ${pairsDefault} pairs: a trial, not a measurement.`);
  return lines.join('\n');
}

export function rowOf(result: Result): string {
  const { goal, ratio, spread, what, against, ours, theirs, unit, notes = {}, substitute } = result;
  const quartiles = `${formatRatio(spread[0])} – ${formatRatio(spread[1])}`;
  const columns = [
    `${goal}`.padStart(2),
    verdict(result).padEnd(11),
    formatRatio(ratio).padStart(5),
    quartiles.padEnd(13),
    targetOf(result).padEnd(6),
    what,
  ];
  const more = [
    `against ${against}`,
    `${absolute(ours)} against ${absolute(theirs)} ${unit}`,
    ...Object.entries(notes).map(([name, value]) => `${name}: ${typeof value === 'number' ? absolute(value) : value}`),
    ...(substitute === undefined ? [] : [substitute]),
  ];
  return [columns.join('  '), ...more.map((text) => indent + text)].join('\n');
}

function targetOf({ target, substitute }: Result): string {
  if (target === undefined || substitute !== undefined) return '–';
  return 'min' in target ? `≥ ${formatRatio(target.min)}` : `≤ ${formatRatio(target.max)}`;
}

export function verdict(result: Result): string {
  if (result.substitute !== undefined) return 'not run';
  if (result.target === undefined) return 'shown';
  return reachesGoal(result) ? 'reached' : 'not reached';
}

function summary(results: readonly Result[]): string {
  const withTarget = results.filter(({ target, substitute }) => target !== undefined && substitute === undefined);
  return `${withTarget.filter(reachesGoal).length} of ${withTarget.length} goals reached.`;
}

const formatRatio = (value: number): string => (Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2));

const absolute = (value: number): string =>
  value.toLocaleString('en', { maximumFractionDigits: value >= 100 ? 0 : value >= 10 ? 1 : 2 });
