import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { keyKinds } from '../src/contract/key-kinds.ts';
import { makeSecret } from '../src/domain/secret.ts';
import { newFolder, newScope, run, type ServerProcess, serve } from '../test/support/cli-helpers.ts';
import { type Engine, engines, makeTwoTenants, message, ndjson, newDatabaseUrl } from '../test/support/harness.ts';
import { count, type Experiment, type Finding, type Say } from './support/experiment.ts';

/** How much of it: guesses from each address, and seconds of hammering with a limited key. */
export type KeyAttack = { engine: Engine; addresses: number; guesses: number; hammerSeconds: number };

export const keys: Experiment = {
  name: 'keys',
  long: async (say) => {
    const findings: Finding[] = [];
    for (const engine of engines)
      findings.push(...(await attackKeys({ engine, addresses: 20, guesses: 1_000, hammerSeconds: 10 }, say)));
    return findings;
  },
};

const failedKeysMax = 100;
/** The status of what is refused before its key is looked at: on a busy machine, not by these limits. */
const overloaded = 503;
const requestsMax = 50;
const writesMax = 10;
const revokedMillisMax = { sqlite: 0, postgres: 5_000 } as const;

/** Guesses keys, asks for more than limits allow, and uses a key on after its revocation. */
export async function attackKeys(attack: KeyAttack, say: Say): Promise<Finding[]> {
  const scope = newScope();
  try {
    const database = await newDatabaseUrl(attack.engine);
    scope.after(database.remove);
    const cwd = await newFolder(scope);
    const env = { DATABASE_URL: database.url };
    const world = makeTwoTenants();
    const stdin = ndjson([...world.records, message(world.one.ids.conversation, 1)]);
    const imported = await run(['import', '-'], { cwd, env, stdin });
    if (imported.code !== 0) throw new Error(imported.stderr);
    const open = await serve(scope, { cwd, env });
    const limited = await serve(scope, {
      cwd,
      env: { ...env, RATE_LIMIT: `${requestsMax}`, WRITE_LIMIT: `${writesMax}` },
    });
    const revoke = async (id: string) => {
      const { code, stderr } = await run(['keys', 'revoke', id], { cwd, env });
      if (code !== 0) throw new Error(stderr);
    };
    const findings = [
      ...(await guess(open, world, attack, say)),
      ...(await hammer(limited, world, attack, say)),
      await useRevoked(open, world, attack, revoke),
    ];
    return findings.map((finding) => ({ ...finding, promise: `${finding.promise} [${attack.engine}]` }));
  } finally {
    await scope.end();
  }
}

type World = ReturnType<typeof makeTwoTenants>;
const pageOf = ({ one }: World) => `/v1/messages?conversation_id=${one.ids.conversation}`;

/** Wrong secrets from several addresses at once, while a client at one of them goes on with its own. */
async function guess(
  serving: ServerProcess,
  world: World,
  { addresses, guesses }: KeyAttack,
  say: Say,
): Promise<Finding[]> {
  const page = pageOf(world);
  const paths = [page, '/v1/workspaces/current/models/model-types/llm', '/admin/records', '/metrics'];
  const client = new Client(serving.base, addressOf(0));
  const quiet = await useUntil(client, page, world.one.keys.app, (asked) => asked >= 200);
  let isOver = false;
  const valid = useUntil(client, page, world.one.keys.app, () => isOver);
  const began = performance.now();
  const seen = await Promise.all(
    Array.from({ length: addresses }, async (_, at) => {
      const attacker = new Client(serving.base, addressOf(at));
      const statuses = await inParallel(4, guesses, async (index) => {
        const key = index % 2 ? makeSecret(keyKinds[index % keyKinds.length] ?? 'app') : nearMiss(world.one.keys.app);
        for (;;) {
          const { status } = await attacker.send('GET', paths[index % paths.length] ?? page, key);
          if (status !== overloaded) return status;
        }
      });
      attacker.close();
      return statuses;
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  isOver = true;
  const { statuses, millis } = await valid;
  client.close();
  say(`${count(addresses * guesses)} guesses in ${seconds.toFixed(1)} s`);

  const all = seen.flat();
  const opened = all.filter((status) => ![401, 429].includes(status)).length;
  const tries = seen.map((statuses) => statuses.filter((status) => status === 401).length);
  const expected = Math.min(guesses, failedKeysMax);
  const windows = 1 + Math.floor(seconds / 60);
  const passed = statuses.filter((status) => status === 200).length;
  const refused = statuses.filter((status) => status !== 200 && status !== overloaded).length;
  const figures = await figuresOf(serving, world.admin);
  const told = [figures('failed_keys_total{reason="unknown"}'), figures('throttled_total{limit="failed_keys"}')];
  const throttled = all.filter((status) => status === 429).length;
  const leaked = serving.output().match(/\b(?:app|dataset|writer|admin)-[\w-]{20,}/g)?.length ?? 0;
  return [
    {
      promise: 'no guessed key opens anything',
      measured: `${opened} of ${count(all.length)} guesses, ${count(Math.round(all.length / seconds))} a second`,
      holds: opened === 0,
    },
    {
      promise: `an address gets ${failedKeysMax} tries a minute, then 429`,
      measured: `${Math.min(...tries)} to ${Math.max(...tries)} tries from each of ${addresses} addresses, ${count(throttled)} throttled`,
      holds: tries.every((n) => n >= expected && n <= expected * windows),
    },
    {
      promise: 'a valid key from an attacked address is never refused',
      measured: `${count(passed)} of ${count(statuses.length)}; 99 of 100 within ${at99(millis)} ms, without attack ${at99(quiet.millis)} ms`,
      holds: refused === 0 && passed > 0,
    },
    {
      promise: 'the metrics count the attack, and no secret is in the log',
      measured: `${told.map((n) => count(n)).join(' failed, ')} throttled, ${leaked} secrets`,
      holds: told[0] === all.length && told[1] === throttled && leaked === 0,
    },
  ];
}

/** More reads and writes than the limits allow, on several connections. */
async function hammer(
  serving: ServerProcess,
  world: World,
  { hammerSeconds }: KeyAttack,
  say: Say,
): Promise<Finding[]> {
  const { one } = world;
  const reads = { method: 'GET', path: pageOf(world), key: one.keys.app, max: requestsMax, what: 'requests' };
  const writes = { method: 'PATCH', path: one.chunkPath, key: one.keys.knowledge, max: writesMax, what: 'writes' };
  return Promise.all(
    [reads, writes].map(async ({ method, path, key, max, what }) => {
      const client = new Client(serving.base, '127.0.0.1');
      const began = performance.now();
      const replies: Reply[] = [];
      // On a busy machine it takes longer to reach the limit.
      const isOver = () =>
        performance.now() - began > hammerSeconds * 1000 && replies.some(({ status }) => status === 429);
      const worker = async (connection: string) => {
        while (!isOver()) replies.push(await client.send(method, path, key, { connection }));
      };
      // Spelled so that some are answered by the fast lane and some by the route.
      await Promise.all(['keep-alive', 'keep-alive', 'Keep-Alive', 'Keep-Alive'].map(worker));
      const seconds = (performance.now() - began) / 1000;
      client.close();
      const passed = replies.filter(({ status }) => status === 200).length;
      const refused = replies.filter(({ status }) => status === 429);
      const answered = replies.filter(({ status }) => status !== overloaded).length;
      const told = replies.filter(({ headers }) => headers['ratelimit-remaining'] !== undefined).length;
      say(`${count(replies.length)} ${what} in ${seconds.toFixed(1)} s`);
      // Windows of a second do not overlap, so no more of them can have started.
      const most = max * (Math.floor(seconds) + 1);
      return {
        promise: `never more than ${max} ${what} a second for one key; every answer says what is left`,
        measured: `${count(passed)} of ${count(replies.length)} passed in ${seconds.toFixed(1)} s, ${count(told)} told`,
        holds:
          passed <= most &&
          passed >= max &&
          passed + refused.length === answered &&
          told === answered &&
          refused.every(({ headers }) => headers['retry-after'] === '1'),
      };
    }),
  );
}

/** Goes on with a key while another process revokes it. */
async function useRevoked(
  serving: ServerProcess,
  world: World,
  { engine }: KeyAttack,
  revoke: (id: string) => Promise<void>,
): Promise<Finding> {
  let ended: number | undefined;
  let last = Number.NEGATIVE_INFINITY;
  const isOver = (_asked: number, status: number, began: number) => {
    if (status === 200) last = began;
    return ended !== undefined && (status !== 200 || began - ended > 2 * revokedMillisMax.postgres);
  };
  const page = `/v1/messages?conversation_id=${world.other.ids.conversation}`;
  const client = new Client(serving.base, '127.0.0.1');
  const using = useUntil(client, page, world.other.keys.app, isOver);
  await revoke(world.other.keyIds.app);
  ended = performance.now();
  const { statuses } = await using;
  client.close();
  const late = Math.max(0, last - ended);
  return {
    promise: `a key that another process revokes opens nothing ${engine === 'sqlite' ? 'from then on' : 'after 5 seconds'}`,
    measured: `${count(statuses.length)} requests meanwhile, the last that passed was sent ${late === 0 ? 'before' : `${Math.round(late)} ms after`}`,
    holds: late <= revokedMillisMax[engine] && statuses.at(-1) === 401,
  };
}

type Reply = { status: number; headers: http.IncomingHttpHeaders; text: string };

/** Comes from an address of its own; all of 127.0.0.0/8 is this machine. */
class Client {
  readonly #base: string;
  readonly #agent: http.Agent;

  constructor(base: string, localAddress: string) {
    this.#base = base;
    this.#agent = new http.Agent({ keepAlive: true, localAddress });
  }

  async send(method: string, path: string, key: string, more: http.OutgoingHttpHeaders = {}): Promise<Reply> {
    const body = method === 'PATCH' ? '{"content":"text"}' : undefined;
    const headers = {
      authorization: `Bearer ${key}`,
      ...(body && { 'content-type': 'application/json', 'content-length': body.length }),
      ...more,
    };
    const request = http.request(`${this.#base}${path}`, { method, headers, agent: this.#agent });
    request.end(body);
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    let text = '';
    for await (const chunk of response) text += chunk;
    return { status: response.statusCode ?? 0, headers: response.headers, text };
  }

  close(): void {
    this.#agent.destroy();
  }
}

const addressOf = (at: number): string => `127.0.1.${at + 1}`;

/** One request after the other. */
async function useUntil(
  client: Client,
  path: string,
  key: string,
  isOver: (asked: number, status: number, began: number) => boolean,
): Promise<{ statuses: number[]; millis: number[] }> {
  const statuses: number[] = [];
  const millis: number[] = [];
  for (let began = 0; statuses.length === 0 || !isOver(statuses.length, statuses.at(-1) ?? 0, began); ) {
    began = performance.now();
    statuses.push((await client.send('GET', path, key)).status);
    millis.push(performance.now() - began);
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

/** A live secret with another last character but one: all bits of that one count. */
function nearMiss(secret: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.replace(secret.at(-2) ?? '', '');
  return `${secret.slice(0, -2)}${letters[randomInt(letters.length)]}${secret.slice(-1)}`;
}

async function figuresOf({ base }: ServerProcess, admin: string): Promise<(series: string) => number> {
  const client = new Client(base, '127.0.0.1');
  const { text } = await client.send('GET', '/metrics', admin);
  client.close();
  return (series) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`backscroll_${series} `))
        ?.split(' ')[1],
    );
}

function at99(millis: readonly number[]): string {
  const sorted = millis.toSorted((one, other) => one - other);
  return (sorted[Math.floor(sorted.length * 0.99)] ?? 0).toFixed(1);
}
