import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { Machine } from './support/machine.ts';
import { lastRun } from './support/options.ts';
import type { Result, Series } from './support/result.ts';
import { tableOf } from './support/table.ts';

type Run = { results: Result[]; machine: Machine; pairs: number };

/** Writes the plots and the table in docs/understand/ from the measurements of a run: `node bench/draw.ts [FILE]`. */

const docs = resolve(import.meta.dirname, '../docs/understand');

const cost = 'microseconds per request, one at a time; median and quartiles of the rounds';
const plots = {
  depth: {
    file: 'cost-by-depth',
    title: 'Cost of a page by its depth',
    up: cost,
    across: 'newer messages in the conversation',
  },
  size: {
    file: 'cost-by-size',
    title: 'Cost of a page by the size of the database',
    up: cost,
    across: 'messages in the database',
  },
  workers: {
    file: 'throughput-by-workers',
    title: 'Throughput by workers and clients',
    up: 'thousand requests per second, working set of pages; median and quartiles of the rounds',
    across: 'concurrent clients',
  },
};

const [width, height] = [720, 360];
const box = { left: 72, right: 24, top: 56, bottom: 64 };

const style = `
    svg { --ink: #1f2328; --soft: #656d76; --line: #d0d7de; --first: #0969da; --second: #bc4c00; --third: #1a7f37; }
    @media (prefers-color-scheme: dark) {
      svg { --ink: #e6edf3; --soft: #8d96a0; --line: #30363d; --first: #58a6ff; --second: #f0883e; --third: #3fb950; }
    }
    text { font: 13px system-ui, sans-serif; fill: var(--soft); }
    .title { font-size: 16px; fill: var(--ink); }
    .value { fill: var(--ink); }
    .grid { stroke: var(--line); }
    .plot-0 { --mark: var(--first); }
    .plot-1 { --mark: var(--second); }
    .plot-2 { --mark: var(--third); }
    .curve { stroke: var(--mark); stroke-width: 2; fill: none; }
    .half { stroke: var(--mark); stroke-width: 6; opacity: 0.35; }
    .dot { fill: var(--mark); }
    .label { fill: var(--mark); }`;

export function draw({ name, lines: curves }: Series): string {
  const { title, up, across } = plots[name];
  const points = curves.flatMap((curve) => curve.points);
  const logs = points.map(([at]) => Math.log10(at));
  const [first, last] = [Math.min(...logs), Math.max(...logs)];
  const most = Math.max(...points.map(([, , , high]) => high));
  const step = roundStep(most / 4);
  const top = step * Math.ceil((most * 1.15) / step);
  const x = (at: number) =>
    round(box.left + 24 + ((Math.log10(at) - first) / (last - first)) * (width - box.left - box.right - 48));
  const y = (value: number) => round(height - box.bottom - (value / top) * (height - box.top - box.bottom));

  const lines: string[] = [];
  for (let value = 0; value <= top; value += step) {
    lines.push(`<line class="grid" x1="${box.left}" x2="${width - box.right}" y1="${y(value)}" y2="${y(value)}"/>`);
    lines.push(`<text x="${box.left - 8}" y="${y(value) + 4}" text-anchor="end">${value}</text>`);
  }
  for (const [index, { label, points }] of curves.entries()) {
    lines.push(`<g class="plot-${index}">`);
    lines.push(`<polyline class="curve" points="${points.map(([at, value]) => `${x(at)},${y(value)}`).join(' ')}"/>`);
    for (const [at, value, low, high] of points) {
      lines.push(`<line class="half" x1="${x(at)}" x2="${x(at)}" y1="${y(low)}" y2="${y(high)}"/>`);
      lines.push(`<circle class="dot" cx="${x(at)}" cy="${y(value)}" r="4"/>`);
      // The values of several curves would overlap.
      if (label !== undefined) continue;
      const above = `x="${x(at)}" y="${y(high) - 10}" text-anchor="middle"`;
      lines.push(`<text class="value" ${above}>${Math.round(value)}</text>`);
    }
    if (label !== undefined) {
      lines.push(`<text class="label" x="${box.left + 16}" y="${box.top + 20 * (index + 1)}">${label}</text>`);
    }
    lines.push('</g>');
  }
  for (const at of new Set(points.map(([at]) => at))) {
    lines.push(`<text x="${x(at)}" y="${height - box.bottom + 20}" text-anchor="middle">${short(at)}</text>`);
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">
  <title>${title}</title>
  <style>${style}
  </style>
  <text class="title" x="${box.left}" y="24">${title}</text>
  <text x="${box.left}" y="44">${up}</text>
  ${lines.join('\n  ')}
  <text x="${(box.left + width - box.right) / 2}" y="${height - 16}" text-anchor="middle">${across}, logarithmic</text>
</svg>
`;
}

const round = (value: number): number => Math.round(value * 10) / 10;

/** The smallest 1, 2, 5 or 10 times a power of ten that is not below the value. */
function roundStep(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5].find((one) => one * power >= value) ?? 10) * power;
}

function short(value: number): string {
  if (value >= 1_000_000) return `${value / 1_000_000} million`;
  return value >= 1_000 ? `${value / 1_000} thousand` : `${value}`;
}

const [tableStart, tableEnd] = ['<!-- last run -->', '<!-- end of the last run -->'];

function replaceTable(page: string, table: string, date: string): string {
  const [before, after] = [page.split(tableStart)[0], page.split(tableEnd)[1]];
  return `${before}${tableStart}\n${date.slice(0, 10)}\n\n\`\`\`\n${table}\n\`\`\`\n${tableEnd}${after}`;
}

if (import.meta.main) {
  const run = JSON.parse(readFileSync(process.argv[2] ?? lastRun, 'utf8')) as Run;
  const write = (name: string, text: string) => {
    const path = join(docs, name);
    writeFileSync(path, text);
    console.log(relative('.', path));
  };
  for (const { series } of run.results) if (series !== undefined) write(`${plots[series.name].file}.svg`, draw(series));
  const page = readFileSync(join(docs, 'performance.md'), 'utf8');
  write('performance.md', replaceTable(page, tableOf(run.results, run.machine, run.pairs), run.machine.date));
}
