import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { makeSecret } from '../server/src/domain/secret.ts';
import {
  createPlainDatabase,
  dropDatabase,
  installCitus,
  nodesOf,
  onNode,
  urlOf,
} from '../server/test/citus/cluster.ts';
import { newFolder, newScope, run, type Scope, serveWithWorkers } from '../server/test/support/cli-helpers.ts';
import { makeTenant, message } from '../server/test/support/harness.ts';
import { until } from '../server/test/support/until.ts';
import { Client } from './support/client.ts';
import { ClusterLoad, newName } from './support/cluster-load.ts';
import { count, type Experiment, type Finding, importRecords, type Log, some } from './support/experiment.ts';

/**
 * Kills nodes of a Citus cluster on this machine under load, and moves shards. CITUS_URL is its coordinator; the command in
 * CITUS_START starts the nodes that are not running; CITUS_SPARE (host:port) is a node that is added and removed again.
 */

const tenantCount = 16;
const execute = promisify(execFile);

type Options = { kills: number; log: Log };
type Results = { kills: Record<string, number>; recoveryMillis: number[]; moves: number };

async function killNodes({ kills, log }: Options): Promise<Finding[]> {
  const scope = newScope();
  const results: Results = { kills: {}, recoveryMillis: [], moves: 0 };
  try {
    const name = newName();
    await createPlainDatabase(name);
    await installCitus(name);
    scope.after(() => dropDatabase(name));
    const url = urlOf(name);
    const cwd = await newFolder(scope);
    const tenants = Array.from({ length: tenantCount }, () => makeTenant());
    const secret = makeSecret('admin');
    const admin = { record: 'api_key', kind: 'admin', name: 'admin', secret };
    const records = tenants.flatMap((tenant) => [...tenant.records, message(tenant.ids.conversation, 1)]);
    const env = { DATABASE_URL: url, DATABASE_TIMEOUT: '3000' };
    await importRecords([...records, admin], { cwd, env });
    const serving = await serveWithWorkers(scope, { cwd, env });
    const load = new ClusterLoad(serving.base, tenants, secret);
    try {
      await killRepeatedly(url, serving.base, kills, results, log);
      await moveShards(scope, name, results, log);
      await sleep(1_000);
    } finally {
      await load.stop();
    }
    const client = new Client();
    const { text } = await client.request(serving.base, '/admin/records', { key: secret });
    client.close();
    log(`${JSON.stringify(load.responses)} ${JSON.stringify(load.exports)}`);
    for (const line of serving.output().split('\n'))
      if (line.includes('"level":50') && !line.includes('service_unavailable')) log(line);
    return findingsOf(load, load.compare(text), results, await importAgain(scope, text));
  } finally {
    await scope.end();
  }
}

async function killRepeatedly(url: string, base: string, kills: number, results: Results, log: Log): Promise<void> {
  const nodes = await nodesOf(url);
  for (let kill = 0; kill < kills; kill += 1) {
    await sleep(500 + Math.random() * 1_500);
    const node = nodes[kill % nodes.length];
    if (node === undefined) throw new Error('no node');
    const postmaster = await onNode(urlOf('postgres', node), async (client) => {
      const { rows } = await client.query(`SELECT pg_read_file('postmaster.pid') AS file`);
      return Number(rows[0].file.split('\n')[0]);
    });
    process.kill(postmaster, 'SIGKILL');
    const kind = node.isCoordinator ? 'coordinator' : 'worker';
    results.kills[kind] = (results.kills[kind] ?? 0) + 1;
    await sleep(Math.random() * 2_000);
    const startedAt = performance.now();
    // Children of the killed process may still be running: then the start is repeated.
    await until(() =>
      execute('/bin/sh', ['-c', process.env.CITUS_START ?? '']).then(
        () => true,
        () => false,
      ),
    );
    await until(() => onNode(urlOf('postgres', node), (client) => client.query('SELECT 1')).catch(() => false));
    await until(() => fetch(`${base}/health/ready`).then(({ status }) => status === 200));
    results.recoveryMillis.push(performance.now() - startedAt);
    log(`${kind} killed, ready after ${Math.round(results.recoveryMillis.at(-1) ?? 0)} ms`);
  }
}

/** Adds a node, moves shards to it, and moves them back. */
async function moveShards(scope: Scope, name: string, results: Results, log: Log): Promise<void> {
  const [host = '', port = ''] = process.env.CITUS_SPARE?.split(':') ?? [];
  const spare = { host, port: Number(port) };
  await onNode(urlOf('postgres', spare), async (client) => {
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${name}`);
  });
  scope.after(() =>
    onNode(urlOf('postgres', spare), async (client) => void (await client.query(`DROP DATABASE ${name} WITH (FORCE)`))),
  );
  await onNode(urlOf(name, spare), (client) => client.query('CREATE EXTENSION citus'));
  await onNode(urlOf(name), async (client) => {
    const placements = async () =>
      (await client.query('SELECT shardid, groupid FROM pg_dist_placement ORDER BY 1, 2')).rows.map(
        ({ shardid, groupid }) => `${shardid} ${groupid}`,
      );
    await client.query('SELECT citus_add_node($1, $2)', [spare.host, spare.port]);
    const before = await placements();
    await client.query(`SELECT rebalance_table_shards(shard_transfer_mode => 'force_logical')`);
    const during = await placements();
    results.moves += during.filter((one) => !before.includes(one)).length;
    log(`${results.moves} shards moved to the new node`);
    await client.query('SELECT citus_drain_node($1, $2, $3)', [spare.host, spare.port, 'force_logical']);
    const after = await placements();
    results.moves += after.filter((one) => !during.includes(one)).length;
    await client.query('SELECT citus_remove_node($1, $2)', [spare.host, spare.port]);
  });
}

/** Whether the last export can be imported into another database. */
async function importAgain(scope: Scope, text: string): Promise<string> {
  const name = newName();
  await createPlainDatabase(name);
  await installCitus(name);
  scope.after(() => dropDatabase(name));
  const cwd = await newFolder(scope);
  const { stderr } = await run(['import', '-'], { cwd, env: { DATABASE_URL: urlOf(name) }, stdin: text });
  return stderr;
}

function findingsOf(
  load: ClusterLoad,
  { lost, torn }: { lost: string[]; torn: string[] },
  { kills, recoveryMillis, moves }: Results,
  importError: string,
): Finding[] {
  const { edits, messages } = load.acknowledged;
  const millis = recoveryMillis.toSorted((a, b) => a - b).map(Math.round);
  const killed = Object.entries(kills).map(([kind, times]) => `${kind} killed ${times} times`);
  return [
    {
      promise: 'no acknowledged write is lost when a node dies or shards move',
      measured: `${lost.length} lost of ${count(edits)} edits and ${count(messages)} messages; ${killed.join(', ')}, ${moves} shards moved${some(lost)}`,
      holds: lost.length === 0 && edits > 0 && messages > 0,
    },
    {
      promise: 'no write is partial or applied twice',
      measured: `${torn.length}${some(torn)}`,
      holds: torn.length === 0,
    },
    {
      promise: 'no response contradicts an acknowledged write',
      measured: `${load.wrong.length} wrong${some(load.wrong)}`,
      holds: load.wrong.length === 0,
    },
    {
      promise: 'every response in the meantime is 200, or 503 with Retry-After',
      measured: `${count(load.responses[200] ?? 0)} times 200, ${count(load.responses[503] ?? 0)} times 503, ${load.unexpected.length} others${some(load.unexpected)}`,
      holds: load.unexpected.length === 0,
    },
    {
      promise: 'every complete export can be imported',
      measured: `${load.exports.complete} complete, ${load.exports.failed} rejected or cut off${some(importError === '' ? [] : [importError])}`,
      holds: load.exports.complete > 0 && importError === '',
    },
    {
      promise: 'the service recovers by itself',
      measured: `${millis.length} times, ready ${millis[millis.length >> 1]} ms (median) after the start of the node, at most ${millis.at(-1)} ms`,
      holds: millis.length > 0,
    },
  ];
}

export const cluster: Experiment = { name: 'cluster', long: (log) => killNodes({ kills: 12, log }) };
