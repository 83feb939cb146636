import { once } from 'node:events';
import net from 'node:net';
import { inScope, newFolder, serveWithWorkers } from '../server/test/support/cli-helpers.ts';
import { type Engine, newDatabaseUrl } from '../server/test/support/harness.ts';
import { count, type Experiment, type Finding, importRecords, type Log, onEachEngine } from './support/experiment.ts';
import { Random } from './support/random.ts';
import { parseResponses } from './support/raw-responses.ts';
import { type Arm, arms, makeTimingFixture, type Probe, type Request } from './support/timing-fixture.ts';

/**
 * Tests whether response times reveal what exists. Requests of all arms are sent in random order, one at a time. The
 * requests are divided into blocks; in each block the medians of two arms are compared. The comparison of the two arms
 * that request missing objects measures the noise. A difference counts if it is larger than that noise, statistically
 * significant, and large enough to matter.
 */
export const timing: Experiment = {
  name: 'timing',
  long: onEachEngine((engine, log) => compareTimes({ engine, each: 2000, seed: 1, log })),
};

const blocks = 20;
/** Number of standard errors that count as noise. */
const noiseFactor = 4;
/** Smaller differences cannot be measured over a network. Reading a row that then does not count takes a few microseconds. */
const microsMin = 10;
/** After a hundred failed keys an address gets another response, so addresses are changed before that. */
const requestsPerAddress = 90;

export async function compareTimes(options: {
  engine: Engine;
  each: number;
  seed: number;
  log: Log;
}): Promise<Finding[]> {
  const { engine, each, seed, log } = options;
  return inScope(async (scope) => {
    const { records, probes } = makeTimingFixture();
    const { url, remove } = await newDatabaseUrl(engine);
    scope.after(remove);
    const runOptions = { cwd: await newFolder(scope), env: { DATABASE_URL: url } };
    await importRecords(records, runOptions);
    const { base } = await serveWithWorkers(scope, runOptions);
    const random = new Random(seed);
    const client = new TimedClient(Number(new URL(base).port));
    // Warm up first: what a first request loads is not part of the measurement.
    await measure(client, random, probes, Math.min(300, each));
    const times = await measure(client, random, probes, each);
    client.close();
    log(`${engine}: ${count(each)} requests in each of ${probes.length * arms.length} arms`);
    return probes.map((probe) => findingOf(engine, probe, times.get(probe)));
  });
}

type Times = Record<Arm, number[]>;

async function measure(client: TimedClient, random: Random, probes: readonly Probe[], each: number) {
  const times = new Map<Probe, Times>(probes.map((probe) => [probe, { inaccessible: [], missing: [], control: [] }]));
  for (let index = 0; index < each; index += 1) {
    const order = probes.flatMap((probe) => arms.map((arm) => ({ probe, arm, at: random.next() })));
    for (const { probe, arm } of order.sort((a, b) => a.at - b.at)) {
      times.get(probe)?.[arm].push(await client.time(probe.request[arm](index)));
    }
  }
  return times;
}

function findingOf(engine: Engine, { name, expected }: Probe, times: Times | undefined): Finding {
  if (times === undefined) throw new Error(`nothing measured for ${name}`);
  const difference = compare(times.inaccessible, times.missing);
  const control = compare(times.control, times.missing);
  const noise = Math.max(Math.abs(control.micros), noiseFactor * Math.max(control.error, difference.error));
  const measured = `${signed(difference.micros)} µs of ${median(times.missing).toFixed(0)}; control ${signed(control.micros)} µs, noise ±${noise.toFixed(1)} µs`;
  const isDetected = Math.abs(difference.micros) > Math.max(noise, microsMin);
  const promises: Record<Probe['expected'], [promise: string, holds: boolean]> = {
    same: ['an inaccessible object takes as long as a missing one', !isDetected],
    different: ['a real difference is detected', isDetected],
    any: ['no promise, only measured', true],
  };
  const [promise, holds] = promises[expected];
  return { promise: `${promise}: ${name} [${engine}]`, measured, holds };
}

/** Difference of the first arm: the mean of the differences of the block medians, and its standard error. */
function compare(one: readonly number[], other: readonly number[]): { micros: number; error: number } {
  const length = Math.floor(one.length / blocks);
  const differences = Array.from({ length: blocks }, (_, at) => {
    const block = (all: readonly number[]) => median(all.slice(at * length, (at + 1) * length));
    return block(one) - block(other);
  });
  const micros = differences.reduce((sum, value) => sum + value, 0) / blocks;
  const variance = differences.reduce((sum, value) => sum + (value - micros) ** 2, 0) / (blocks - 1);
  return { micros, error: Math.sqrt(variance / blocks) };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return ((sorted[(sorted.length - 1) >> 1] ?? Number.NaN) + (sorted[sorted.length >> 1] ?? Number.NaN)) / 2;
}

const signed = (micros: number) => `${micros < 0 ? '−' : '+'}${Math.abs(micros).toFixed(1)}`;

/** Sends one request at a time over a plain socket, whose overhead is small and constant. */
class TimedClient {
  readonly #port: number;
  #socket: net.Socket | undefined;
  #sent = 0;
  #addresses = 0;

  constructor(port: number) {
    this.#port = port;
  }

  /** Microseconds from the first byte sent to the last received. */
  async time({ method, path, key }: Request): Promise<number> {
    const socket = await this.#connected();
    const body = method === 'PATCH' ? '{"content":"c"}' : '';
    const bodyHeaders = body === '' ? '' : `content-type: application/json\r\ncontent-length: ${body.length}\r\n`;
    const text = `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n${bodyHeaders}\r\n${body}`;
    // Encoded before the clock starts: the time that takes depends on how the strings were built.
    const bytes = Buffer.from(text);
    const startedAt = process.hrtime.bigint();
    socket.write(bytes);
    const [response] = (await once(socket, 'data')) as [Buffer];
    const micros = Number(process.hrtime.bigint() - startedAt) / 1000;
    const { responses, rest } = parseResponses(response, () => false, false);
    const [{ status } = { status: 0 }] = responses;
    if (rest.length > 0 || (status !== 404 && status !== 401)) throw new Error(`${method} ${path}: ${response}`);
    return micros;
  }

  close(): void {
    this.#socket?.destroy();
  }

  async #connected(): Promise<net.Socket> {
    if (this.#socket !== undefined && this.#sent++ % requestsPerAddress !== 0) return this.#socket;
    this.close();
    const at = this.#addresses++;
    const localAddress = `127.${2 + (at >> 14)}.${(at >> 7) & 127}.${1 + (at & 127)}`;
    this.#socket = net.connect({ port: this.#port, host: '127.0.0.1', localAddress, noDelay: true });
    await once(this.#socket, 'connect');
    return this.#socket;
  }
}
