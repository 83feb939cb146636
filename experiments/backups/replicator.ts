import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  call,
  filesContaining,
  inScope,
  newFolder,
  type Scope,
  sendRequest,
  serve,
} from '../../server/test/support/cli-helpers.ts';
import { makeTwoTenants, message, ndjson } from '../../server/test/support/harness.ts';
import { until } from '../../server/test/support/until.ts';
import { count, type Experiment, type Finding, importRecords, type Log } from '../support/experiment.ts';

/** Litestream beside the service, with its defaults. LITESTREAM is the path of its program, which is not part of the project. */

const text = 'thetextthatiserased';
const writesPerSecond = 200;
const writers = 40;
/** Litestream sends what is new every second. */
const replicationSeconds = 3;

type Purge = { status: number; millis: number; cleanSeconds: number; isBusy: boolean; isKnown: boolean };
type Measured = { purges: Purge[]; left: number; busySeconds: number };

const runBesideLitestream = (
  program: string,
  { purges, messages }: { purges: number; messages: number },
  log: Log,
): Promise<Finding[]> =>
  inScope(async (scope) => {
    const replicated = await newReplica(scope, program, messages);
    const { measured, acknowledged } = await eraseBeside(replicated, purges, log);
    const restored = await killAndRestore(replicated, program);
    return findingsOf(messages, measured, acknowledged, restored);
  });

/** A service and its replicator. */
async function newReplica(scope: Scope, program: string, messages: number) {
  const cwd = await newFolder(scope);
  const tenants = makeTwoTenants();
  const filler = Array.from({ length: messages }, (_, at) =>
    message(tenants.one.ids.conversation, at, { answer: `${at} `.repeat(150) }),
  );
  await importRecords([...tenants.records, ...filler], { cwd });
  const service = await serve(scope, { cwd });
  const file = join(cwd, 'data', 'backscroll.db');
  const configuration = { dbs: [{ path: file, replica: { type: 'file', path: join(cwd, 'replica') } }] };
  // JSON is YAML.
  await writeFile(join(cwd, 'litestream.yml'), JSON.stringify(configuration));
  const litestream = spawn(program, ['replicate', '-config', 'litestream.yml'], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [litestream.stdout, litestream.stderr]) stream.on('data', (chunk) => (output += chunk));
  const ended = once(litestream, 'exit');
  const kill = async () => {
    litestream.kill('SIGKILL');
    await ended;
  };
  scope.after(kill);
  await until(
    () => /snapshot|replicat/i.test(output),
    () => `Litestream replicates: ${output}`,
  );
  return { ...tenants, cwd, file, service, kill, output: () => output };
}

type Replica = Awaited<ReturnType<typeof newReplica>>;

/** Purges under writes and without any. */
async function eraseBeside({ one, admin, service, file }: Replica, purges: number, log: Log) {
  const acknowledged: { id: string; at: number }[] = [];
  const append = (lines: object[]) =>
    sendRequest(service.base, '/admin/records', admin, { method: 'POST', lines: ndjson(lines) });
  let isWriting = false;
  let isEnded = false;
  const write = async () => {
    for (let at = 0; !isEnded; at += 1) {
      await sleep((1_000 * writers) / writesPerSecond);
      if (!isWriting) continue;
      const one_message = message(one.ids.conversation, 1_000_000 + at);
      if ((await append([one_message])).status === 200) acknowledged.push({ id: one_message.id, at: Date.now() });
    }
  };
  const writing = Promise.all(Array.from({ length: writers }, write));
  const measured: Measured = { purges: [], left: 0, busySeconds: 0 };
  for (let at = 0; at < purges; at += 1) {
    isWriting = at % 2 === 0;
    const begun = performance.now();
    const conversation = { record: 'conversation', id: randomUUID(), app_id: one.ids.app, user: 'eve' };
    await append([
      conversation,
      ...[1, 2, 3].map((time) => message(conversation.id, time, { query: text.repeat(400) })),
    ]);
    // Litestream has copied it.
    await sleep(2_000);
    const started = performance.now();
    const json = { conversation_id: conversation.id };
    const { status, body } = await sendRequest(service.base, '/admin/purge', admin, { method: 'POST', json });
    const millis = performance.now() - started;
    const state = async () => (await sendRequest(service.base, '/health/ready', admin)).body.erased_copies;
    const deadline = performance.now() + 300_000;
    while ((await state())?.waiting_since !== null && performance.now() < deadline) await sleep(250);
    const cleanSeconds = (performance.now() - started) / 1_000;
    if (isWriting) measured.busySeconds += (performance.now() - begun) / 1_000;
    measured.left += filesContaining(file, text).length;
    const isKnown = body?.copies?.includes('replica') === true;
    measured.purges.push({ status, millis, cleanSeconds, isBusy: isWriting, isKnown });
    log(
      `purge ${isWriting ? 'under writes' : 'without writes'}: ${status} after ${millis.toFixed(0)} ms, clean after ${cleanSeconds.toFixed(1)} s, copies: ${body?.copies}`,
    );
  }
  isWriting = true;
  await sleep(5_000);
  measured.busySeconds += 5;
  isEnded = true;
  await writing;
  return { measured, acknowledged };
}

/** Kills both a while after the last write, and restores the replica. */
async function killAndRestore({ cwd, kill, service, file }: Replica, program: string) {
  await sleep(replicationSeconds * 1_000);
  await Promise.all([kill(), service.end()]);
  const killedAt = Date.now();
  const restored = join(cwd, 'restored.db');
  execFileSync(program, ['restore', '-config', 'litestream.yml', '-integrity-check', 'full', '-o', restored, file], {
    cwd,
    stdio: 'ignore',
  });
  const seconds = (Date.now() - killedAt) / 1_000;
  const ran = await call(['export'], { cwd, env: { DATABASE_URL: `sqlite:${restored}` } });
  return { exported: ran.stdout, seconds };
}

function findingsOf(
  messages: number,
  { purges, left, busySeconds }: Measured,
  acknowledged: { id: string }[],
  { exported, seconds }: { exported: string; seconds: number },
): Finding[] {
  const lost = acknowledged.filter(({ id }) => !exported.includes(id)).length;
  const slowest = (isBusy: boolean) =>
    Math.max(...purges.filter((one) => one.isBusy === isBusy).map((one) => one.cleanSeconds)).toFixed(0);
  const failed = purges.filter(({ status, isKnown }) => status !== 200 || !isKnown).length;
  return [
    {
      promise: 'a purge beside Litestream gets 200 in time, and says that the replica has copies',
      measured: `${count(messages)} messages: ${count(purges.length)} purges, ${failed} others; at most ${(Math.max(...purges.map((one) => one.millis)) / 1_000).toFixed(1)} s`,
      holds: failed === 0,
    },
    {
      promise: 'the files are clean within two minutes, while Litestream continues',
      measured: `${count(messages)} messages: after at most ${slowest(true)} s under ${(acknowledged.length / busySeconds).toFixed(0)} writes per second, and ${slowest(false)} s without; text left in ${left} files`,
      holds: left === 0 && purges.every(({ cleanSeconds }) => cleanSeconds < 120),
    },
    {
      promise: `both killed ${replicationSeconds} s after the last write: the replica has every write and no erased text`,
      measured: `${count(messages)} messages: ${count(acknowledged.length)} writes, ${lost} lost, text ${exported.includes(text) ? 'found' : 'not found'}; restored in ${seconds.toFixed(1)} s`,
      holds: lost === 0 && acknowledged.length > 0 && !exported.includes(text),
    },
  ];
}

export const replicator: Experiment = {
  name: 'replicator',
  // Litestream copies a small log every minute, and a large one at once.
  long: async (log) => {
    const program = process.env.LITESTREAM ?? '';
    const small = await runBesideLitestream(program, { purges: 4, messages: 100 }, log);
    return [...small, ...(await runBesideLitestream(program, { purges: 4, messages: 20_000 }, log))];
  },
};
