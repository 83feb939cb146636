import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { startPostgres } from '../server/test/support/postgres-server.ts';
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
import { commitsSince, headCommit } from './report/commits.ts';
import { type Run, tableOf, withOldRunsMarked, withRows, withRuns } from './report/report.ts';
import { shutdown } from './shutdown.ts';
import type { Experiment, Finding } from './support/experiment.ts';
import { timing } from './timing.ts';
import { upgrade } from './upgrade.ts';

/** `npm run torture` runs every experiment in its long form. The exit code is 1 when a promise did not hold. */

const experiments: readonly Experiment[] = [
  ...[crash, crashPostgres, disk, hostile, timing, overload, largePages, largeRecords, largeOperations],
  ...[keys, shutdown, upgrade, erasure, backup, backupStore, feed, container],
  // Needs the program of Litestream.
  ...(process.env.LITESTREAM ? [replicator] : []),
  // Needs a cluster: see docs/run/citus.md.
  ...(process.env.CITUS_URL ? [cluster] : []),
];

const table = new URL('./README.md', import.meta.url);
const page = new URL('../docs/understand/reliability-runs.md', import.meta.url);
const update = (file: URL, change: (text: string) => string) => writeFileSync(file, change(readFileSync(file, 'utf8')));

const { values } = parseArgs({
  options: { only: { type: 'string' }, write: { type: 'boolean' }, mark: { type: 'boolean' } },
});
if (values.mark) {
  update(table, (text) => withOldRunsMarked(text, commitsSince));
  process.exit();
}
const selected = values.only?.split(',');
for (const name of selected ?? []) {
  if (experiments.every((one) => one.name !== name)) {
    console.error(`there is no experiment ${name}; choose from ${experiments.map((one) => one.name).join(', ')}`);
    process.exit(2);
  }
}

const about = `${new Date().toISOString().slice(0, 10)}, commit ${headCommit()}, ${cpus().length} cores, Node.js ${process.versions.node}`;
const postgres = await startPostgres();
process.env.TEST_DATABASE_URL = postgres.url;
const runs: Run[] = [];
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
    const seconds = (performance.now() - startedAt) / 1000;
    console.log(`  ${seconds.toFixed(0)} s`);
    runs.push({ experiment: name, about, seconds, findings });
  }
} finally {
  await postgres.stop();
}

console.log(`\n${about}\n\n${tableOf(runs)}`);
if (values.write) {
  update(page, (text) => withRows(text, runs));
  update(table, (text) => withRuns(text, runs));
}
process.exitCode = runs.every(({ findings }) => findings.every(({ holds }) => holds)) ? 0 : 1;
