import { randomInt } from 'node:crypto';
import { keyKinds } from '../server/src/contract/key-kinds.ts';
import { makeSecret } from '../server/src/domain/secret.ts';
import { inScope, newFolder, type ServerProcess, serveWithWorkers } from '../server/test/support/cli-helpers.ts';
import { type Engine, makeTwoTenants, message, newDatabaseUrl } from '../server/test/support/harness.ts';
import { Client, type ClientResponse } from './support/client.ts';
import {
  count,
  type Experiment,
  type Finding,
  importRecords,
  type Log,
  onEachEngine,
  runCommand,
} from './support/experiment.ts';

/** The size of the attack: guesses per address, and seconds of constant requests with a rate-limited key. */
export type KeyAttack = { engine: Engine; addresses: number; guesses: number; floodSeconds: number };

export const keys: Experiment = {
  name: 'keys',
  long: onEachEngine((engine, log) => attackKeys({ engine, addresses: 20, guesses: 1_000, floodSeconds: 10 }, log)),
};

const failedKeysMax = 100;
/** The status of a request that is rejected before its key is checked: on a busy machine, not by these limits. */
const overloaded = 503;
const requestsMax = 50;
const writesMax = 10;
const revokedMillisMax = { sqlite: 0, postgres: 5_000 } as const;

/** Guesses keys, exceeds rate limits, and keeps using a key after its revocation. */
export const attackKeys = (attack: KeyAttack, log: Log): Promise<Finding[]> =>
  inScope(async (scope) => {
    const database = await newDatabaseUrl(attack.engine);
    scope.after(database.remove);
    const cwd = await newFolder(scope);
    const env = { DATABASE_URL: database.url };
    const world = makeTwoTenants();
    await importRecords([...world.records, message(world.one.ids.conversation, 1)], { cwd, env });
    const unlimited = await serveWithWorkers(scope, { cwd, env });
    const limited = await serveWithWorkers(scope, {
      cwd,
      env: { ...env, RATE_LIMIT: `${requestsMax}`, WRITE_LIMIT: `${writesMax}` },
    });
    const revoke = (id: string) => runCommand(['keys', 'revoke', id], { cwd, env });
    const findings = [
      ...(await guessKeys(unlimited, world, attack, log)),
      ...(await exceedLimits(limited, world, attack, log)),
      await useRevokedKey(unlimited, world, attack, revoke),
    ];
    return findings.map((finding) => ({ ...finding, promise: `${finding.promise} [${attack.engine}]` }));
  });

type World = ReturnType<typeof makeTwoTenants>;
const pageOf = ({ one }: World) => `/v1/messages?conversation_id=${one.ids.conversation}`;

/** Sends wrong secrets from several addresses at once, while a client at one of them keeps using a valid key. */
async function guessKeys(
  serving: ServerProcess,
  world: World,
  { addresses, guesses }: KeyAttack,
  log: Log,
): Promise<Finding[]> {
  const page = pageOf(world);
  const paths = [page, '/v1/workspaces/current/models/model-types/llm', '/admin/records', '/metrics'];
  const client = new Client(addressOf(0));
  const baseline = await readUntil(client, serving.base + page, world.one.keys.app, (requests) => requests >= 200);
  let isOver = false;
  const valid = readUntil(client, serving.base + page, world.one.keys.app, () => isOver);
  const startedAt = performance.now();
  const statusesByAddress = await Promise.all(
    Array.from({ length: addresses }, async (_, at) => {
      const attacker = new Client(addressOf(at));
      const statuses = await inParallel(4, guesses, async (index) => {
        const key = index % 2 ? makeSecret(keyKinds[index % keyKinds.length] ?? 'app') : nearMiss(world.one.keys.app);
        for (;;) {
          const { status } = await attacker.request(serving.base, paths[index % paths.length] ?? page, { key });
          if (status !== overloaded) return status;
        }
      });
      attacker.close();
      return statuses;
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  isOver = true;
  const { statuses, millis } = await valid;
  client.close();
  log(`${count(addresses * guesses)} guesses in ${seconds.toFixed(1)} s`);

  const all = statusesByAddress.flat();
  const accepted = all.filter((status) => ![401, 429].includes(status)).length;
  const attempts = statusesByAddress.map((statuses) => statuses.filter((status) => status === 401).length);
  const expected = Math.min(guesses, failedKeysMax);
  const windows = 1 + Math.floor(seconds / 60);
  const passed = statuses.filter((status) => status === 200).length;
  const rejected = statuses.filter((status) => status !== 200 && status !== overloaded).length;
  const metric = await readMetrics(serving, world.admin);
  const counted = [metric('failed_keys_total{reason="unknown"}'), metric('throttled_total{limit="failed_keys"}')];
  const throttled = all.filter((status) => status === 429).length;
  // `feed-` may also be in the middle of a UUID.
  const leaked = serving.output().match(/(?<![\w-])(?:app|dataset|writer|feed|admin)-[\w-]{20,}/g)?.length ?? 0;
  return [
    {
      promise: 'no guessed key is accepted',
      measured: `${accepted} of ${count(all.length)} guesses, ${count(Math.round(all.length / seconds))} a second`,
      holds: accepted === 0,
    },
    {
      promise: `an address gets ${failedKeysMax} attempts per minute, then 429`,
      measured: `${Math.min(...attempts)} to ${Math.max(...attempts)} attempts from each of ${addresses} addresses, ${count(throttled)} throttled`,
      holds: attempts.every((n) => n >= expected && n <= expected * windows),
    },
    {
      promise: 'a valid key from an attacking address is never rejected',
      measured: `${count(passed)} of ${count(statuses.length)}; p99 ${p99(millis)} ms, without attack ${p99(baseline.millis)} ms`,
      holds: rejected === 0 && passed > 0,
    },
    {
      promise: 'the metrics count the attack, and no secret is in the log',
      measured: `${counted.map((n) => count(n)).join(' failed, ')} throttled, ${leaked} secrets`,
      holds: counted[0] === all.length && counted[1] === throttled && leaked === 0,
    },
  ];
}

/** Sends more reads and writes than the limits allow, on several connections. */
async function exceedLimits(
  serving: ServerProcess,
  world: World,
  { floodSeconds }: KeyAttack,
  log: Log,
): Promise<Finding[]> {
  const { one } = world;
  const reads = { path: pageOf(world), key: one.keys.app, max: requestsMax, what: 'requests' };
  const edit = { method: 'PATCH', key: one.keys.knowledge, json: { content: 'text' } };
  const writes = { ...edit, path: one.chunkPath, max: writesMax, what: 'writes' };
  return Promise.all(
    [reads, writes].map(async ({ path, max, what, ...parts }) => {
      const client = new Client();
      const startedAt = performance.now();
      const replies: ClientResponse[] = [];
      // On a busy machine it takes longer to reach the limit.
      const isOver = () =>
        performance.now() - startedAt > floodSeconds * 1000 && replies.some(({ status }) => status === 429);
      const worker = async (connection: string) => {
        while (!isOver()) replies.push(await client.request(serving.base, path, { ...parts, headers: { connection } }));
      };
      // Two spellings, so that the fast lane handles some requests and the route the others.
      await Promise.all(['keep-alive', 'keep-alive', 'Keep-Alive', 'Keep-Alive'].map(worker));
      const seconds = (performance.now() - startedAt) / 1000;
      client.close();
      const passed = replies.filter(({ status }) => status === 200).length;
      const rejected = replies.filter(({ status }) => status === 429);
      const processed = replies.filter(({ status }) => status !== overloaded).length;
      const withRemaining = replies.filter(({ headers }) => headers['ratelimit-remaining'] !== undefined).length;
      log(`${count(replies.length)} ${what} in ${seconds.toFixed(1)} s`);
      // Windows of one second do not overlap, so no more windows than this can have started.
      const most = max * (Math.floor(seconds) + 1);
      return {
        promise: `never more than ${max} ${what} per second for one key; every response reports the remaining number`,
        measured: `${count(passed)} of ${count(replies.length)} passed in ${seconds.toFixed(1)} s, ${count(withRemaining)} with RateLimit-Remaining`,
        holds:
          passed <= most &&
          passed >= max &&
          passed + rejected.length === processed &&
          withRemaining === processed &&
          rejected.every(({ headers }) => headers['retry-after'] === '1'),
      };
    }),
  );
}

/** Keeps using a key while another process revokes it. */
async function useRevokedKey(
  serving: ServerProcess,
  world: World,
  { engine }: KeyAttack,
  revoke: (id: string) => Promise<unknown>,
): Promise<Finding> {
  let revokedAt: number | undefined;
  let lastPassedAt = Number.NEGATIVE_INFINITY;
  const isOver = (_requests: number, status: number, sentAt: number) => {
    if (status === 200) lastPassedAt = sentAt;
    return revokedAt !== undefined && (status !== 200 || sentAt - revokedAt > 2 * revokedMillisMax.postgres);
  };
  const page = `/v1/messages?conversation_id=${world.other.ids.conversation}`;
  const client = new Client();
  const reading = readUntil(client, serving.base + page, world.other.keys.app, isOver);
  await revoke(world.other.keyIds.app);
  revokedAt = performance.now();
  const { statuses } = await reading;
  client.close();
  const late = Math.max(0, lastPassedAt - revokedAt);
  return {
    promise: `a key that another process revokes is rejected ${engine === 'sqlite' ? 'from then on' : 'after 5 seconds'}`,
    measured: `${count(statuses.length)} requests in the meantime, the last that passed was sent ${late === 0 ? 'before the revocation' : `${Math.round(late)} ms after it`}`,
    holds: late <= revokedMillisMax[engine] && statuses.at(-1) === 401,
  };
}

/** All of 127.0.0.0/8 is this machine. */
const addressOf = (at: number): string => `127.0.1.${at + 1}`;

/** Reads the same page repeatedly, one request at a time. */
async function readUntil(
  client: Client,
  address: string,
  key: string,
  isOver: (requests: number, status: number, sentAt: number) => boolean,
): Promise<{ statuses: number[]; millis: number[] }> {
  const statuses: number[] = [];
  const millis: number[] = [];
  for (let sentAt = 0; statuses.length === 0 || !isOver(statuses.length, statuses.at(-1) ?? 0, sentAt); ) {
    sentAt = performance.now();
    statuses.push((await client.request(address, '', { key })).status);
    millis.push(performance.now() - sentAt);
  }
  return { statuses, millis };
}

async function inParallel<T>(lanes: number, times: number, task: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const lane = async () => {
    while (next < times) results.push(await task(next++));
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}

/**
 * A valid secret with a different second-to-last character. All bits of that character are part of the secret, which is
 * not so for the last one.
 */
function nearMiss(secret: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.replace(secret.at(-2) ?? '', '');
  return `${secret.slice(0, -2)}${letters[randomInt(letters.length)]}${secret.slice(-1)}`;
}

async function readMetrics({ base }: ServerProcess, admin: string): Promise<(series: string) => number> {
  const client = new Client();
  const { text } = await client.request(base, '/metrics', { key: admin });
  client.close();
  return (series) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`backscroll_${series} `))
        ?.split(' ')[1],
    );
}

function p99(millis: readonly number[]): string {
  const sorted = millis.toSorted((one, other) => one - other);
  return (sorted[Math.floor(sorted.length * 0.99)] ?? 0).toFixed(1);
}
