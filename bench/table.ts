import type { Machine } from './machine.ts';
import { pairsDefault } from './pairs.ts';
import { type Result, reaches } from './result.ts';

const head = ' #  verdict      ratio  middle half    aim     what';
const indent = ' '.repeat(head.indexOf('what'));
const rule = '─'.repeat(110);

/** The table, for a terminal. Only ratios are judged. */
export function tableOf(results: readonly Result[], machine: Machine, pairs: number): string {
  const { processor, cores, memory_gigabytes, system, node, commit } = machine;
  const lines = [
    `${processor}, ${cores} cores, ${memory_gigabytes} GB; ${system}; Node.js ${node}; commit ${commit}`,
    '',
    head,
    rule,
    results.map(rowOf).join('\n\n'),
    rule,
    `${summary(results)} Ratios are medians of ${pairs} interleaved pairs; other figures depend on the machine.`,
  ];
  if (pairs < pairsDefault) lines.push(`Fewer than ${pairsDefault} pairs: a trial, not a measurement.`);
  return lines.join('\n');
}

export function rowOf(result: Result): string {
  const { goal, ratio, spread, what, against, ours, theirs, unit, notes = {}, standIn } = result;
  const middle = `${figure(spread[0])} – ${figure(spread[1])}`;
  const columns = [
    `${goal}`.padStart(2),
    verdict(result).padEnd(11),
    figure(ratio).padStart(5),
    middle.padEnd(13),
    aimOf(result).padEnd(6),
    what,
  ];
  const more = [
    `against ${against}`,
    `${absolute(ours)} against ${absolute(theirs)} ${unit}`,
    ...Object.entries(notes).map(([name, value]) => `${name}: ${typeof value === 'number' ? absolute(value) : value}`),
    ...(standIn === undefined ? [] : [standIn]),
  ];
  return [columns.join('  '), ...more.map((text) => indent + text)].join('\n');
}

function aimOf({ aim, standIn }: Result): string {
  if (aim === undefined || standIn !== undefined) return '–';
  return 'min' in aim ? `≥ ${figure(aim.min)}` : `≤ ${figure(aim.max)}`;
}

export function verdict(result: Result): string {
  if (result.standIn !== undefined) return 'not run';
  if (result.aim === undefined) return 'shown';
  return reaches(result) ? 'reached' : 'not reached';
}

function summary(results: readonly Result[]): string {
  const judged = results.filter(({ aim, standIn }) => aim !== undefined && standIn === undefined);
  return `${judged.filter(reaches).length} of ${judged.length} goals reached.`;
}

const figure = (value: number): string => (Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2));

const absolute = (value: number): string =>
  value.toLocaleString('en', { maximumFractionDigits: value >= 100 ? 0 : value >= 10 ? 1 : 2 });
