import { once } from 'node:events';
import net from 'node:net';
import { newFolder, newScope, run, serve } from '../test/support/cli-helpers.ts';
import { type Engine, engines, ndjson, newDatabaseUrl } from '../test/support/harness.ts';
import { count, type Experiment, type Finding, type Say } from './support/experiment.ts';
import { Random } from './support/random.ts';
import { parseAnswers } from './support/raw-responses.ts';
import { type Arm, arms, makeTimingWorld, type Probe, type Request } from './support/timing-world.ts';

/**
 * Whether the time that an answer takes tells what exists. Requests of all arms come in random order, one after another.
 * The run is cut into blocks; in each, the medians of two arms are compared. Between the two arms that ask about nothing,
 * that comparison shows the noise; a difference counts where it is beyond it, beyond chance, and large enough to matter.
 */
export const timing: Experiment = {
  name: 'timing',
  long: async (say) => {
    const findings: Finding[] = [];
    for (const engine of engines) findings.push(...(await compareTimes({ engine, each: 2000, seed: 1, say })));
    return findings;
  },
};

const blocks = 20;
/** Standard errors that count as noise. */
const noiseFactor = 4;
/** Differences below this are lost on any network. Looking at a row that does not count takes a few microseconds. */
const microsMin = 10;
/** Failed keys are counted by address, and refused in another way beyond a hundred. */
const requestsPerAddress = 90;

export async function compareTimes(options: {
  engine: Engine;
  each: number;
  seed: number;
  say: Say;
}): Promise<Finding[]> {
  const { engine, each, seed, say } = options;
  const scope = newScope();
  try {
    const { records, probes } = makeTimingWorld();
    const { url, remove } = await newDatabaseUrl(engine);
    scope.after(remove);
    const place = { cwd: await newFolder(scope), env: { DATABASE_URL: url } };
    const imported = await run(['import', '-'], { ...place, stdin: ndjson(records) });
    if (imported.code !== 0) throw new Error(imported.stderr);
    const { base } = await serve(scope, place);
    const random = new Random(seed);
    const client = new TimedClient(Number(new URL(base).port));
    // What a first request loads and warms is no part of it.
    await measure(client, random, probes, Math.min(300, each));
    const times = await measure(client, random, probes, each);
    client.close();
    say(`${engine}: ${count(each)} requests in each of ${probes.length * arms.length} arms`);
    return probes.map((probe) => findingOf(engine, probe, times.get(probe)));
  } finally {
    await scope.end();
  }
}

type Times = Record<Arm, number[]>;

async function measure(client: TimedClient, random: Random, probes: readonly Probe[], each: number) {
  const times = new Map<Probe, Times>(probes.map((probe) => [probe, { foreign: [], nowhere: [], control: [] }]));
  for (let index = 0; index < each; index += 1) {
    const turns = probes.flatMap((probe) => arms.map((arm) => ({ probe, arm, at: random.next() })));
    for (const { probe, arm } of turns.sort((a, b) => a.at - b.at)) {
      times.get(probe)?.[arm].push(await client.time(probe.ask[arm](index)));
    }
  }
  return times;
}

function findingOf(engine: Engine, { name, expected }: Probe, times: Times | undefined): Finding {
  if (times === undefined) throw new Error(`nothing measured for ${name}`);
  const seen = compare(times.foreign, times.nowhere);
  const control = compare(times.control, times.nowhere);
  const noise = Math.max(Math.abs(control.micros), noiseFactor * Math.max(control.error, seen.error));
  const measured = `${signed(seen.micros)} µs of ${median(times.nowhere).toFixed(0)}; control ${signed(control.micros)} µs, noise ±${noise.toFixed(1)} µs`;
  const isSeen = Math.abs(seen.micros) > Math.max(noise, microsMin);
  const promises: Record<Probe['expected'], [promise: string, holds: boolean]> = {
    alike: ['not yours takes as long as does not exist', !isSeen],
    different: ['a difference would be seen', isSeen],
    either: ['no promise, only measured', true],
  };
  const [promise, holds] = promises[expected];
  return { promise: `${promise}: ${name} [${engine}]`, measured, holds };
}

/** How much longer the one takes, block by block: the mean of the differences of medians, and its standard error. */
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

/** One request at a time over a bare socket, which costs little and always the same. */
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
    const about = body === '' ? '' : `content-type: application/json\r\ncontent-length: ${body.length}\r\n`;
    const text = `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n${about}\r\n${body}`;
    // Spelled out before the clock starts: how long that takes hangs on where the strings in it came from.
    const bytes = Buffer.from(text);
    const began = process.hrtime.bigint();
    socket.write(bytes);
    const [response] = (await once(socket, 'data')) as [Buffer];
    const micros = Number(process.hrtime.bigint() - began) / 1000;
    const { answers: responses, rest } = parseAnswers(response, () => false, false);
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
