import { newFolder, newScope, run, type ServerProcess, sendRequest, serve } from '../test/support/cli-helpers.ts';
import { type Engine, engines, ndjson, newDatabaseUrl } from '../test/support/harness.ts';
import { converse } from './hostile/client.ts';
import { judge } from './hostile/judge.ts';
import { type Known, makeExchange, makeSilent, type Source } from './hostile/requests.ts';
import type { Exchange } from './hostile/shot.ts';
import { type HostileWorld, makeHostileWorld } from './hostile/world.ts';
import { count, type Experiment, type Finding, type Say } from './support/experiment.ts';
import { type Memory, measurable, measureMemory, memoryFinding, showMemory } from './support/memory.ts';

type HostileOptions = {
  engine: Engine;
  requests: number;
  /** Connections at once. */
  connections: number;
  seed: number;
  /** Connections that fall silent in the middle of a request. */
  silent: number;
  /** Requests before memory is measured for the first time; 0: it is not. */
  warmUp: number;
  say: Say;
};

const livesOn = 'the process lives and is ready';
const exchangeMillisMax = 30_000;
/** The longest that the service waits for the next piece of an upload is 60 seconds. */
const silentMillisMax = 80_000;

export const hostile: Experiment = {
  name: 'hostile',
  long: async (say) => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    const findings: Finding[] = [];
    for (const engine of engines) {
      const isMain = engine === 'sqlite';
      const sizes = isMain ? { requests: 100_000, warmUp: 20_000 } : { requests: 20_000, warmUp: 5_000 };
      findings.push(...(await sendHostile({ engine, ...sizes, connections: 24, seed, silent: 40, say })));
    }
    return findings;
  },
};

/** Sends generated requests to a service of its own, and says what came of them. */
export async function sendHostile(options: HostileOptions): Promise<Finding[]> {
  const { engine, seed, say } = options;
  const scope = newScope();
  try {
    const world = makeHostileWorld();
    const { url, remove } = await newDatabaseUrl(engine);
    scope.after(remove);
    const place = { cwd: await newFolder(scope), env: { DATABASE_URL: url } };
    const imported = await run(['import', '-'], { ...place, stdin: ndjson(world.records) });
    if (imported.code !== 0) throw new Error(imported.stderr);
    const serving = await serve(scope, { ...place, env: { ...place.env, ...(options.warmUp > 0 && measurable) } });
    const source = { seed, world, known: await askKnown(serving.base, world) };
    say(`${engine}: seed ${seed}`);
    const findings = await attack(options, serving, source);
    return findings.map((finding) => ({ ...finding, promise: `${finding.promise} [${engine}]` }));
  } finally {
    await scope.end();
  }
}

async function attack(options: HostileOptions, serving: ServerProcess, source: Source): Promise<Finding[]> {
  const { requests, connections, silent, warmUp, say, seed } = options;
  const { world } = source;
  const port = Number(new URL(serving.base).port);
  const before = await calmRecords(serving.base, world);
  const tally = new Tally(seed, say);
  const waiting = Array.from({ length: silent }, async (_, index) => {
    const exchange = makeSilent(source, index);
    tally.take(exchange, await converse(port, exchange, silentMillisMax), `silent ${index}`);
  });
  let next = 0;
  let hasEnded = false;
  void serving.ended.then(() => {
    hasEnded = true;
  });
  const sendUntil = async (sent: number) => {
    const one = async () => {
      while (tally.requests < sent && !hasEnded) {
        const index = next++;
        const exchange = makeExchange(source, index);
        tally.take(exchange, await converse(port, exchange, exchangeMillisMax), `connection ${index}`);
      }
    };
    await Promise.all(Array.from({ length: connections }, one));
  };
  const memory: Memory[] = [];
  const note = async () => {
    if (hasEnded) return;
    memory.push(await measureMemory(serving));
    say(`${count(tally.requests)} requests: ${memory.slice(-1).map(showMemory)}, ${tally.faults.length} faults`);
  };
  // A warm-up, and four quarters.
  for (let quarter = 0; warmUp > 0 && quarter < 4; quarter += 1) {
    await sendUntil(warmUp + ((requests - warmUp) * quarter) / 4);
    await note();
  }
  await sendUntil(requests);
  await Promise.all(waiting);
  if (warmUp > 0) await note();
  const log = serving.output();
  if (hasEnded)
    return [...tally.findings(), { promise: livesOn, measured: `it ended: ${log.slice(-600)}`, holds: false }];
  const ready = await sendRequest(serving.base, '/health/ready', '');
  return [
    ...tally.findings(),
    {
      promise: livesOn,
      measured: `/health/ready says ${ready.status}, ${log.match(/"level":[56]0/g)?.length ?? 0} errors logged`,
      holds: ready.status === 200 && !/"level":[56]0/.test(log),
    },
    noSecretsIn(log, world),
    ...(await dataFindings(serving.base, world, before, tally)),
    ...(warmUp > 0 ? [memoryFinding(memory)] : []),
  ];
}

/** What came of all connections. */
class Tally {
  /** Answered or refused; what a client left before its answer does not count. */
  requests = 0;
  readonly faults: string[] = [];
  readonly stored = new Set<string>();
  readonly refused = new Set<string>();
  readonly #statuses = new Map<number, number>();
  readonly #seed: number;
  readonly #say: Say;
  #connections = 0;
  #millisMax = 0;

  constructor(seed: number, say: Say) {
    this.#seed = seed;
    this.#say = say;
  }

  take(exchange: Exchange, outcome: Awaited<ReturnType<typeof converse>>, name: string): void {
    const { faults, answers: responses } = judge(exchange, outcome);
    this.#connections += 1;
    this.requests += responses.length;
    if (exchange.end !== 'silent') this.#millisMax = Math.max(this.#millisMax, outcome.millis);
    for (const fault of faults) {
      this.faults.push(`seed ${this.#seed}, ${name}: ${fault}`);
      if (this.faults.length <= 20) this.#say(`seed ${this.#seed}, ${name}: ${fault}`);
    }
    for (const [index, { status }] of responses.entries()) {
      this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
      const { mark, isStored } = exchange.shots[index] ?? {};
      if (mark === undefined) continue;
      if (status === 200 && isStored) this.stored.add(mark);
      if (status >= 400) this.refused.add(mark);
    }
  }

  findings(): Finding[] {
    const statuses = [...this.#statuses].sort(([a], [b]) => a - b);
    const ours = statuses.filter(([status]) => status >= 500).reduce((sum, [, times]) => sum + times, 0);
    return [
      {
        promise: 'no request, however malformed, is answered with 5xx',
        measured: `${count(this.requests)} requests on ${count(this.#connections)} connections, seed ${this.#seed}: ${statuses.map(([status, times]) => `${status} × ${count(times)}`).join(', ')}`,
        holds: ours === 0,
      },
      {
        promise:
          'each is answered once and in its order, as the OpenAPI document says, or refused; no connection hangs, no hidden request is answered',
        measured: `${this.faults.length} faults; the longest connection took ${(this.#millisMax / 1000).toFixed(1)} s`,
        holds: this.faults.length === 0,
      },
    ];
  }
}

async function askKnown(base: string, { calm, busy, admin }: HostileWorld): Promise<Known[]> {
  const page = `/v1/messages?conversation_id=${calm.ids.conversation}`;
  const questions: [string, string | undefined][] = [
    [page, calm.keys.app],
    [`${page}&limit=3&first_id=${calm.messages[30]}`, calm.keys.app],
    [`${page}&user=nobody`, calm.keys.app],
    [page, busy.keys.app],
    ['/v1/messages', calm.keys.app],
    [calm.chunkPath, calm.keys.knowledge],
    [calm.chunkPath, busy.keys.knowledge],
    ['/v1/workspaces/current/models/model-types/llm', calm.keys.app],
    ['/v1/workspaces/current/models/model-types/none', calm.keys.knowledge],
    ['/admin/keys-of-nobody', admin],
    ['/health/live', undefined],
    ['/health/ready', undefined],
  ];
  const known: Known[] = [];
  for (const [target, key] of questions) {
    const { status, text } = await sendRequest(base, target, key ?? '');
    known.push({ target, key, status, text });
  }
  return known;
}

async function exportLines(base: string, { admin }: HostileWorld): Promise<string[]> {
  const { status, text } = await sendRequest(base, '/admin/records', admin);
  if (status !== 200) throw new Error(`the export says ${status}: ${text}`);
  return text.split('\n');
}

/** Every record that belongs to the calm tenant. */
async function calmRecords(base: string, world: HostileWorld): Promise<string> {
  const ids = [...Object.values(world.calm.ids), ...Object.values(world.calm.keyIds)];
  return (await exportLines(base, world)).filter((line) => ids.some((id) => line.includes(id))).join('\n');
}

async function dataFindings(base: string, world: HostileWorld, before: string, tally: Tally): Promise<Finding[]> {
  const after = await calmRecords(base, world);
  const kept = new Set((await exportLines(base, world)).join('\n').match(/mark-\d+-\d+\./g));
  const lost = [...tally.stored].filter((mark) => !kept.has(mark));
  const forged = [...tally.refused].filter((mark) => kept.has(mark));
  return [
    {
      promise: 'what valid writes did not touch is the same, byte for byte',
      measured: `${count(before.split('\n').length)} records of the calm tenant ${before === after ? 'unchanged' : 'changed'}`,
      holds: before === after && before !== '',
    },
    {
      promise: 'nothing that was taken is lost, nothing that was refused is kept',
      measured: `${count(tally.stored.size)} taken, ${lost.length} lost; ${count(tally.refused.size)} refused, ${forged.length} kept ${[...lost, ...forged].slice(0, 5).join(' ')}`,
      holds: lost.length === 0 && forged.length === 0 && tally.stored.size > 0,
    },
  ];
}

function noSecretsIn(log: string, { calm, busy, admin, dead }: HostileWorld): Finding {
  const secrets = [...Object.values(calm.keys), ...Object.values(busy.keys), admin, ...dead];
  const shown = secrets.filter((secret) => log.includes(secret)).length;
  const measured = `${shown} of ${secrets.length} keys in ${count(log.split('\n').length)} lines`;
  return { promise: 'no secret is logged', measured, holds: shown === 0 };
}
