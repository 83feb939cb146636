import { setTimeout as sleep } from 'node:timers/promises';
import {
  inScope,
  newFolder,
  type ServerProcess,
  sendRequest,
  serveWithWorkers,
} from '../server/test/support/cli-helpers.ts';
import { type Engine, engines, newDatabaseUrl } from '../server/test/support/harness.ts';
import { checkExchange } from './hostile/check-exchange.ts';
import type { Exchange } from './hostile/exchange.ts';
import { type HostileFixture, makeHostileFixture } from './hostile/fixture.ts';
import { generateExchange, generateStalledExchange, type KnownResponse, type Source } from './hostile/generator.ts';
import { runExchange } from './hostile/run-exchange.ts';
import { count, type Experiment, type Finding, importRecords, type Log } from './support/experiment.ts';
import { type Memory, measureMemory, memoryFinding, memoryProbe, showMemory } from './support/memory.ts';

type HostileOptions = {
  engine: Engine;
  requests: number;
  /** Concurrent connections. */
  connections: number;
  seed: number;
  /** Connections that stall in the middle of a request. */
  stalled: number;
  /** Requests before memory is measured for the first time; 0 turns the measurement off. */
  warmUp: number;
  log: Log;
};

/** More than the part of the requests that delete records of one kind. */
const deletionShare = 0.04;
const staysReady = 'the process stays up and ready';
const exchangeMillisMax = 30_000;
/** Attempts of an exchange if an overloaded service rejects a request of it. */
const attemptsMax = 5;
/** The value of `Retry-After` of an overloaded service. */
const retryMillis = 1_000;
/** The service waits at most 60 seconds for the next chunk of an upload. */
const stalledMillisMax = 80_000;

export const hostile: Experiment = {
  name: 'hostile',
  long: async (log) => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    const findings: Finding[] = [];
    for (const engine of engines) {
      const isMain = engine === 'sqlite';
      const sizes = isMain ? { requests: 100_000, warmUp: 20_000 } : { requests: 20_000, warmUp: 5_000 };
      findings.push(...(await sendHostileRequests({ engine, ...sizes, connections: 24, seed, stalled: 40, log })));
    }
    return findings;
  },
};

/** Starts a service, sends generated requests to it and reports the findings. */
export async function sendHostileRequests(options: HostileOptions): Promise<Finding[]> {
  const { engine, seed, log } = options;
  return inScope(async (scope) => {
    const fixture = makeHostileFixture(Math.ceil(options.requests * deletionShare));
    const { url, remove } = await newDatabaseUrl(engine);
    scope.after(remove);
    const runOptions = { cwd: await newFolder(scope), env: { DATABASE_URL: url } };
    await importRecords(fixture.records, runOptions);
    const serving = await serveWithWorkers(scope, {
      ...runOptions,
      env: { ...runOptions.env, ...(options.warmUp > 0 && memoryProbe) },
    });
    const source = { seed, fixture, knownResponses: await fetchKnownResponses(serving.base, fixture) };
    log(`${engine}: seed ${seed}`);
    const findings = await attack(options, serving, source);
    return findings.map((finding) => ({ ...finding, promise: `${finding.promise} [${engine}]` }));
  });
}

async function attack(options: HostileOptions, serving: ServerProcess, source: Source): Promise<Finding[]> {
  const { requests, connections, stalled, warmUp, log, seed } = options;
  const { fixture } = source;
  const port = Number(new URL(serving.base).port);
  const before = await stableRecords(serving.base, fixture);
  const deletable = new Set(Object.values(fixture.busy.deletable).flat());
  const tally = new Tally(seed, log);
  const stalledExchanges = Array.from({ length: stalled }, async (_, index) => {
    const exchange = generateStalledExchange(source, index);
    tally.add(exchange, await runExchange(port, exchange, stalledMillisMax), `stalled ${index}`);
  });
  let next = 0;
  let hasEnded = false;
  void serving.ended.then(() => {
    hasEnded = true;
  });
  const sendUntil = async (sent: number) => {
    const sendLoop = async () => {
      while (tally.requests < sent && !hasEnded) {
        const index = next++;
        for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
          const exchange = generateExchange(source, index, attempt);
          const outcome = await runExchange(port, exchange, exchangeMillisMax);
          if (tally.add(exchange, outcome, `connection ${index}`) === 0) break;
          if (attempt === attemptsMax - 1) tally.addFault(`connection ${index}`, `overloaded ${attemptsMax} times`);
          await sleep(retryMillis);
        }
      }
    };
    await Promise.all(Array.from({ length: connections }, sendLoop));
  };
  const memory: Memory[] = [];
  const sampleMemory = async () => {
    if (hasEnded) return;
    memory.push(await measureMemory(serving));
    log(`${count(tally.requests)} requests: ${memory.slice(-1).map(showMemory)}, ${tally.faults.length} faults`);
  };
  // A warm-up, then four quarters.
  for (let quarter = 0; warmUp > 0 && quarter < 4; quarter += 1) {
    await sendUntil(warmUp + ((requests - warmUp) * quarter) / 4);
    await sampleMemory();
  }
  await sendUntil(requests);
  await Promise.all(stalledExchanges);
  if (warmUp > 0) await sampleMemory();
  const output = serving.output();
  if (hasEnded)
    return [...tally.findings(), { promise: staysReady, measured: `it ended: ${output.slice(-600)}`, holds: false }];
  const ready = await sendRequest(serving.base, '/health/ready', '');
  return [
    ...tally.findings(),
    {
      promise: staysReady,
      measured: `/health/ready returns ${ready.status}, ${output.match(/"level":[56]0/g)?.length ?? 0} errors logged`,
      holds: ready.status === 200 && !/"level":[56]0/.test(output),
    },
    secretsFinding(output, fixture),
    ...(await dataFindings(serving.base, fixture, before, tally)),
    await deletionsFinding(serving.base, fixture, deletable, tally),
    ...(warmUp > 0 ? [memoryFinding(memory)] : []),
  ];
}

/** The results of all connections. */
class Tally {
  /** Requests that got a response. Those that the client abandoned first do not count. */
  requests = 0;
  readonly faults: string[] = [];
  readonly stored = new Set<string>();
  readonly rejected = new Set<string>();
  readonly deleted = new Set<string>();
  readonly #statuses = new Map<number, number>();
  readonly #seed: number;
  readonly #log: Log;
  #connections = 0;
  #millisMax = 0;
  #overloads = 0;

  constructor(seed: number, log: Log) {
    this.#seed = seed;
    this.#log = log;
  }

  /** Returns the number of requests that an overloaded service rejected. */
  add(exchange: Exchange, outcome: Awaited<ReturnType<typeof runExchange>>, name: string): number {
    const { faults, responses, overloadCount } = checkExchange(exchange, outcome);
    this.#connections += 1;
    this.#overloads += overloadCount;
    this.requests += responses.length;
    if (exchange.end !== 'stalled') this.#millisMax = Math.max(this.#millisMax, outcome.millis);
    for (const fault of faults) this.addFault(name, fault);
    for (const [index, { status }] of responses.entries()) {
      this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
      const { marker, isStored, deletes } = exchange.requests[index] ?? {};
      if (status < 300 && deletes !== undefined) this.deleted.add(deletes);
      if (marker === undefined) continue;
      if (status < 300 && isStored) this.stored.add(marker);
      if (status >= 400) this.rejected.add(marker);
    }
    return overloadCount;
  }

  addFault(name: string, fault: string): void {
    this.faults.push(`seed ${this.#seed}, ${name}: ${fault}`);
    if (this.faults.length <= 20) this.#log(`seed ${this.#seed}, ${name}: ${fault}`);
  }

  findings(): Finding[] {
    const statuses = [...this.#statuses].sort(([a], [b]) => a - b);
    const serverErrors = statuses.filter(([status]) => status >= 500).reduce((sum, [, times]) => sum + times, 0);
    return [
      {
        promise:
          'no request, however malformed, gets a 5xx response, except 503 with Retry-After if the service is overloaded: then it succeeds when it is sent again',
        measured: `${count(this.requests)} requests on ${count(this.#connections)} connections, seed ${this.#seed}: ${statuses.map(([status, times]) => `${status} × ${count(times)}`).join(', ')}`,
        holds: serverErrors === this.#overloads,
      },
      {
        promise:
          'each request gets one response, in order, that matches the OpenAPI document, or is rejected; no connection hangs, no smuggled request gets a response',
        measured: `${this.faults.length} faults; the longest connection took ${(this.#millisMax / 1000).toFixed(1)} s`,
        holds: this.faults.length === 0,
      },
    ];
  }
}

async function fetchKnownResponses(base: string, { stable, busy, admin }: HostileFixture): Promise<KnownResponse[]> {
  const page = `/v1/messages?conversation_id=${stable.ids.conversation}`;
  const requests: [string, string | undefined][] = [
    [page, stable.keys.app],
    [`${page}&limit=3&first_id=${stable.messages[30]}`, stable.keys.app],
    [`${page}&user=nobody`, stable.keys.app],
    [page, busy.keys.app],
    ['/v1/messages', stable.keys.app],
    [stable.chunkPath, stable.keys.knowledge],
    [stable.chunkPath, busy.keys.knowledge],
    ['/v1/workspaces/current/models/model-types/llm', stable.keys.app],
    ['/v1/workspaces/current/models/model-types/none', stable.keys.knowledge],
    ['/admin/no-such-path', admin],
    ['/health/live', undefined],
  ];
  const responses: KnownResponse[] = [];
  for (const [target, key] of requests) {
    const { status, text } = await sendRequest(base, target, key ?? '');
    responses.push({ target, key, status, text });
  }
  return responses;
}

async function exportLines(base: string, { admin }: HostileFixture): Promise<string[]> {
  const { status, text } = await sendRequest(base, '/admin/records', admin);
  if (status !== 200) throw new Error(`the export returned ${status}: ${text}`);
  return text.split('\n');
}

/** Every record that belongs to the stable tenant. */
async function stableRecords(base: string, fixture: HostileFixture): Promise<string> {
  const ids = [...Object.values(fixture.stable.ids), ...Object.values(fixture.stable.keyIds)];
  return (await exportLines(base, fixture)).filter((line) => ids.some((id) => line.includes(id))).join('\n');
}

async function dataFindings(base: string, fixture: HostileFixture, before: string, tally: Tally): Promise<Finding[]> {
  const after = await stableRecords(base, fixture);
  const exported = new Set((await exportLines(base, fixture)).join('\n').match(/marker-\d+-\d+\./g));
  const lost = [...tally.stored].filter((marker) => !exported.has(marker));
  const wronglyStored = [...tally.rejected].filter((marker) => exported.has(marker));
  return [
    {
      promise: 'data that no valid write touches stays the same, byte for byte',
      measured: `${count(before.split('\n').length)} records of the stable tenant ${before === after ? 'unchanged' : 'changed'}`,
      holds: before === after && before !== '',
    },
    {
      promise: 'no accepted write is lost, no rejected write is stored',
      measured: `${count(tally.stored.size)} accepted, ${lost.length} lost; ${count(tally.rejected.size)} rejected, ${wronglyStored.length} stored ${[...lost, ...wronglyStored].slice(0, 5).join(' ')}`,
      holds: lost.length === 0 && wronglyStored.length === 0 && tally.stored.size > 0,
    },
  ];
}

/** `deletable`: the ids of all records that could be deleted. */
async function deletionsFinding(
  base: string,
  fixture: HostileFixture,
  deletable: ReadonlySet<string>,
  tally: Tally,
): Promise<Finding> {
  const untouched = Object.values(fixture.busy.deletable).flat();
  const existing = new Set<string>();
  for (const line of await exportLines(base, fixture)) {
    const { id, deleted, revoked_at } = line === '' ? {} : JSON.parse(line);
    if (deletable.has(id) && !deleted && !revoked_at) existing.add(id);
  }
  const acknowledged = [...tally.deleted].filter((id) => deletable.has(id));
  const undone = acknowledged.filter((id) => existing.has(id));
  const missing = untouched.filter((id) => !existing.has(id));
  return {
    promise: 'an accepted deletion deletes its record and no other',
    measured: `${count(acknowledged.length)} deleted, ${undone.length} of them exist; ${count(untouched.length)} others, ${missing.length} of them missing`,
    holds: acknowledged.length > 0 && undone.length === 0 && missing.length === 0 && untouched.length > 0,
  };
}

function secretsFinding(output: string, { stable, busy, admin, invalidKeys }: HostileFixture): Finding {
  const secrets = [...Object.values(stable.keys), ...Object.values(busy.keys), admin, ...invalidKeys];
  const logged = secrets.filter((secret) => output.includes(secret)).length;
  const measured = `${logged} of ${secrets.length} keys in ${count(output.split('\n').length)} lines`;
  return { promise: 'no secret is logged', measured, holds: logged === 0 };
}
