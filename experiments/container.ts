import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, existsSync, mkdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  command,
  inScope,
  newFolder,
  type Scope,
  type Settings,
  serveWithWorkers,
} from '../server/test/support/cli-helpers.ts';
import { makeTwoTenants, message, ndjson } from '../server/test/support/harness.ts';
import { count, type Experiment, type Finding, type Log, runCommand, some } from './support/experiment.ts';
import { Random } from './support/random.ts';

const mebibyte = 2 ** 20;
const containerMebibytes = 512;
const messagesPerConversation = 20;
const answerUnits = 3_300;
/** Conversations in 2 GB, without the search index. */
const conversations2Gb = 20_000;
const importedMessages = 1_000;
const importPauseMillis = 5_000;
const sampleMillis = 500;

type Container = {
  /** The file that takes the number of a process that joins. */
  joinFile: string;
  /** How often the limit was reached, so that the system had to reclaim memory. */
  limitHits: () => number;
  kills: () => number;
};

/** The first number after this text in a file. */
const numberIn = (file: string, text: string): number =>
  Number(new RegExp(`${text}\\s*(\\d+)`).exec(readFileSync(file, 'utf8'))?.[1]);

/** A group of processes with this much memory, inside the group of this process. Undefined where it cannot be created. */
function newContainer(scope: Scope, bytes: number): Container | undefined {
  const own = readFileSync('/proc/self/cgroup', 'utf8');
  const [, inFirst] = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(own) ?? [];
  const [, inSecond = '/'] = /^0::(.*)$/m.exec(own) ?? [];
  const parent = inFirst === undefined ? `/sys/fs/cgroup${inSecond}` : `/sys/fs/cgroup/memory${inFirst}`;
  const folder = join(parent, `backscroll-${randomUUID()}`);
  try {
    mkdirSync(folder);
  } catch {
    return undefined;
  }
  scope.after(async () => rmdirSync(folder));
  const at = (name: string) => join(folder, name);
  const joinFile = at('cgroup.procs');
  if (inFirst !== undefined) {
    writeFileSync(at('memory.limit_in_bytes'), `${bytes}`);
    const limitHits = () => numberIn(at('memory.failcnt'), '^');
    return { joinFile, limitHits, kills: () => numberIn(at('memory.oom_control'), 'oom_kill\\b') };
  }
  if (!existsSync(at('memory.max'))) return undefined;
  writeFileSync(at('memory.max'), `${bytes}`);
  const events = at('memory.events');
  return { joinFile, limitHits: () => numberIn(events, '\\bmax'), kills: () => numberIn(events, 'oom_kill\\b') };
}

type World = ReturnType<typeof makeTwoTenants> & { conversations: string[] };

/** Text of words of different frequency, as the search indexes it. */
const textOf = (random: Random, units: number): string => {
  let text = '';
  while (text.length < units) text += `word${Math.floor(20_000 * random.next() ** 3).toString(36)} `;
  return text;
};

async function writeWorld(file: string, { records, one, conversations }: World): Promise<void> {
  const random = new Random(1);
  const texts = Array.from({ length: 2_000 }, () => textOf(random, answerUnits));
  const output = createWriteStream(file);
  output.write(ndjson(records));
  for (const [at, id] of conversations.entries()) {
    const conversation = { record: 'conversation', id, app_id: one.ids.app, user: `user ${at % 500}` };
    const messages = Array.from({ length: messagesPerConversation }, (_, n) =>
      message(id, at * 60 + n, { answer: random.pick(texts) }),
    );
    if (!output.write(ndjson([conversation, ...messages]))) await once(output, 'drain');
  }
  output.end();
  await once(output, 'close');
}

/** Reads the whole response, and keeps nothing of it. Returns the status; 0 if there was none. */
async function statusOf(base: string, path: string, key: string, more: RequestInit = {}): Promise<number> {
  try {
    const response = await fetch(`${base}${path}`, {
      ...more,
      headers: { authorization: `Bearer ${key}`, ...more.headers },
    });
    for await (const _ of response.body ?? []);
    return response.status === 503 && !response.headers.has('retry-after') ? 0 : response.status;
  } catch {
    return 0;
  }
}

/** Requests of every kind, until `isOver`: what clients, the console, readers of the feed and operators send. */
async function sendMixed(
  base: string,
  { one, admin, conversations }: World,
  isOver: () => boolean,
): Promise<Map<string, number>> {
  const random = new Random(2);
  const responses = new Map<string, number>();
  const loop = async (name: string, pauseMillis: number, send: () => Promise<number>) => {
    for (; !isOver(); await sleep(pauseMillis)) {
      const outcome = `${name} ${await send()}`;
      responses.set(outcome, (responses.get(outcome) ?? 0) + 1);
    }
  };
  const json = { 'content-type': 'application/json' };
  const lines = { 'content-type': 'application/x-ndjson' };
  const post = (key: string, records: readonly object[]) =>
    statusOf(base, '/admin/records', key, { method: 'POST', headers: lines, body: ndjson(records) });
  const newMessage = () =>
    message(random.pick(conversations), Math.floor(Date.now() / 1000), { answer: textOf(random, answerUnits) });
  const word = () => `word${random.below(20_000).toString(36)}`;
  const get = (name: string, key: string, path: () => string, pauseMillis = 0) =>
    loop(name, pauseMillis, () => statusOf(base, path(), key));
  const page = () => `/v1/messages?conversation_id=${random.pick(conversations)}&limit=${1 + random.below(100)}`;
  await Promise.all([
    ...Array.from({ length: 6 }, () => get('page', one.keys.app, page)),
    ...Array.from({ length: 2 }, () => loop('append', 20, () => post(one.keys.writer, [newMessage()]))),
    loop('import', importPauseMillis, () => post(admin, Array.from({ length: importedMessages }, newMessage))),
    loop('edit', 20, () => {
      const body = JSON.stringify({ content: textOf(random, 500) });
      return statusOf(base, one.chunkPath, one.keys.knowledge, { method: 'PATCH', headers: json, body });
    }),
    get('search', admin, () => `/admin/search?in=messages&q=${word()}`, 200),
    get('list', admin, () => '/admin/conversations?limit=50', 200),
    get('overview', admin, () => '/admin/overview', 2_000),
    get('feed', admin, () => '/admin/changes?limit=1000', 500),
    get('export', admin, () => '/admin/records', 1_000),
    get('metrics', admin, () => '/metrics', 5_000),
  ]);
  return responses;
}

type Memory = { anonymous: number; file: number };

/** In MiB. */
function memoryOf(pid: number): Memory {
  const status = `/proc/${pid}/status`;
  const mebibytes = (field: string) => Math.round(numberIn(status, `${field}:`) / 1024);
  return { anonymous: mebibytes('RssAnon'), file: mebibytes('RssFile') };
}

export type ContainerOptions = { conversations: number; seconds: number; mebibytes: number };

/** Serves a database that is much larger than the memory of the container, under requests of every kind. */
export async function serveInContainer(options: ContainerOptions, log: Log): Promise<Finding[]> {
  const { seconds, mebibytes } = options;
  return inScope(async (scope) => {
    const cwd = await newFolder(scope);
    const conversations = Array.from({ length: options.conversations }, () => randomUUID());
    const world = { ...makeTwoTenants(), conversations };
    const records = join(cwd, 'records.ndjson');
    await writeWorld(records, world);
    const env: Settings = { DATABASE_URL: `sqlite:${join(cwd, 'test.db')}` };
    await runCommand(['import', records], { cwd, env, millisMax: 1_800_000 });
    await rm(records);
    log(`a file of ${count(fileMebibytes(cwd))} MiB`);
    // In a new container none of the file is in memory.
    execFileSync('dd', [`if=${join(cwd, 'test.db')}`, 'iflag=nocache', 'count=0'], { stdio: 'ignore' });
    const container = newContainer(scope, mebibytes * mebibyte);
    if (container === undefined) log('without a limit: this user cannot create a group with a memory limit here');
    const joining = container && ['-c', `echo $$ > ${container.joinFile}; exec "$0" "$@"`, command];
    const { base, pid, ended } = await serveWithWorkers(scope, {
      cwd,
      env,
      ...(joining && { command: '/bin/sh', before: joining }),
    });
    let end: unknown;
    void ended.then((result) => {
      end = result;
    });
    const samples: Memory[] = [];
    const deadline = performance.now() + seconds * 1000;
    const isOver = () => end !== undefined || performance.now() > deadline;
    const load = sendMixed(base, world, isOver);
    for (; !isOver(); await sleep(sampleMillis)) samples.push(memoryOf(pid));
    const responses = await load;
    return judge({ options, container, end, samples, responses, file: fileMebibytes(cwd) });
  });
}

const fileMebibytes = (cwd: string): number => Math.round(statSync(join(cwd, 'test.db')).size / mebibyte);

type Results = {
  options: ContainerOptions;
  container: Container | undefined;
  end: unknown;
  samples: readonly Memory[];
  responses: ReadonlyMap<string, number>;
  file: number;
};

function judge({ options, container, end, samples, responses, file }: Results): Finding[] {
  const { mebibytes, seconds } = options;
  const faults = [...responses]
    .filter(([outcome]) => !/ (?:200|503)$/.test(outcome))
    .map(([outcome, n]) => `${outcome} × ${n}`);
  const peak = Math.max(...samples.map(({ anonymous }) => anonymous));
  const last = samples.at(-1);
  const requests = [...responses.values()].reduce((sum, n) => sum + n, 0);
  const unavailable = [...responses].reduce((sum, [outcome, n]) => sum + (outcome.endsWith(' 503') ? n : 0), 0);
  const limited =
    container === undefined
      ? 'not in a container'
      : `the limit was reached ${count(container.limitHits())} times, ${container.kills()} processes were killed`;
  return [
    {
      promise: `two workers in a container of ${mebibytes} MiB serve a file of 2 GB and are not killed`,
      measured:
        `a file of ${count(file)} MiB, ${seconds} s, ${count(requests)} requests of 10 kinds, ${count(unavailable)} × 503, ` +
        `${faults.length} other${some(faults)}; ${limited}`,
      holds:
        end === undefined && faults.length === 0 && (container?.kills() ?? 0) === 0 && unavailable < requests / 100,
    },
    {
      promise: `the memory of the process itself stays below ${mebibytes} MiB`,
      measured: `at most ${peak} MiB; at the end ${last?.anonymous} MiB, and ${last?.file} MiB of mapped files`,
      holds: peak < mebibytes,
    },
  ];
}

export const container: Experiment = {
  name: 'container',
  long: (log) =>
    serveInContainer({ conversations: conversations2Gb, seconds: 300, mebibytes: containerMebibytes }, log),
};
