import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { startPostgres } from '../support/postgres-server.ts';
import { backup } from './backup.ts';
import { backupStore } from './backups/backup-store.ts';
import { replicator } from './backups/replicator.ts';
import { cluster } from './cluster.ts';
import { container } from './container.ts';
import { crash } from './crash.ts';
import { crashPostgres } from './crash-postgres.ts';
import { disk } from './disk.ts';
import { erasure } from './erasure.ts';
import { feed } from './feed.ts';
import { hostile } from './hostile.ts';
import { keys } from './keys.ts';
import { largeOperations } from './large/operations.ts';
import { largePages } from './large/pages.ts';
import { largeRecords } from './large/records.ts';
import { overload } from './overload.ts';
import { type Row, tableOf, withRows } from './report.ts';
import { shutdown } from './shutdown.ts';
import type { Experiment, Finding } from './support/experiment.ts';
import { timing } from './timing.ts';
import { upgrade } from './upgrade.ts';

/** `npm run torture` runs every experiment in its long form. The exit code is 1 when a promise did not hold. */

const experiments: readonly Experiment[] = [
  ...[crash, crashPostgres, disk, hostile, timing, overload, largePages, largeRecords, largeOperations],
  ...[keys, shutdown, upgrade, erasure, backup, backupStore, feed, container],
  // Needs the program of Litestream: see docs/understand/reliability.md.
  ...(process.env.LITESTREAM ? [replicator] : []),
  // Needs a cluster that someone has set up: see docs/run/citus.md.
  ...(process.env.CITUS_URL ? [cluster] : []),
];

const reportFile = new URL('../../../docs/understand/reliability-runs.md', import.meta.url);
const { values } = parseArgs({ options: { only: { type: 'string' }, write: { type: 'boolean' } } });
const selected = values.only?.split(',');
for (const name of selected ?? []) {
  if (experiments.every((one) => one.name !== name)) {
    console.error(`there is no experiment ${name}; choose from ${experiments.map((one) => one.name).join(', ')}`);
    process.exit(2);
  }
}

const commit = git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain', '-uno') ? ' with changes' : '');
const postgres = await startPostgres();
process.env.TEST_DATABASE_URL = postgres.url;
const rows: Row[] = [];
try {
  for (const { name, long } of experiments.filter((one) => selected?.includes(one.name) ?? true)) {
    const startedAt = performance.now();
    console.log(`\n${name}`);
    const findings = await long((line) => console.log(`  ${line}`)).catch((error: Error): Finding[] => {
      console.log(error);
      return [{ promise: 'the experiment runs to its end', measured: error.message, holds: false }];
    });
    for (const { holds, promise, measured } of findings)
      console.log(`  ${holds ? 'holds' : 'FAILS'}: ${promise}: ${measured}`);
    console.log(`  ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
    rows.push(...findings.map((finding) => ({ experiment: name, ...finding })));
  }
} finally {
  await postgres.stop();
}

const about = `${new Date().toISOString().slice(0, 10)}, commit ${commit}, ${cpus().length} cores, Node.js ${process.versions.node}`;
console.log(`\n${about}\n\n${tableOf(rows)}`);
if (values.write) writeFileSync(reportFile, withRows(readFileSync(reportFile, 'utf8'), rows, about, selected));
process.exitCode = rows.every(({ holds }) => holds) ? 0 : 1;

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}
