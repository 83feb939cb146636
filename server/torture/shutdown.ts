import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../src/contract/limits.ts';
import { newScope, type ServerProcess } from '../test/support/cli-helpers.ts';
import { type Engine, engines, message, ndjson, newDatabaseUrl } from '../test/support/harness.ts';
import { Client } from './support/client.ts';
import { count, type Experiment, type Finding, type Say, some } from './support/experiment.ts';
import { type Installation, install, text } from './support/installation.ts';
import { type Append, audit, type Edits, Ledger, replacing } from './support/ledger.ts';
import { bytesOf, type Heard, Wire } from './support/wire.ts';

export type ShutdownOptions = { rounds: number; say?: Say };

/** So long after the signal a connection that was open is open still, however slow this machine is. */
const openMillis = limits.lingerMillis / 2;
const pipelined = 5;
const lateMillis = 100;

type Seen = {
  answers: number;
  /** Sent before the signal, on a connection that was open: an answer is due. */
  lost: string[];
  /** Sent soon after it, on a connection that had been open and of whose end nothing was known yet. */
  raced: string[];
  /** Sent later: the race that HTTP has. */
  late: number;
  wrong: string[];
  /** New connections that came too late. */
  refused: number;
  told: number;
  closedIdle: number;
  stayed: string[];
  exits: { code: number | null; millis: number }[];
  faults: string[];
};

/** SIGTERM and SIGINT under load of every kind of client. */
export async function stopUnderLoad(
  engine: Engine,
  { rounds, say = () => undefined }: ShutdownOptions,
): Promise<Finding[]> {
  const seen: Seen = {
    answers: 0,
    lost: [],
    raced: [],
    late: 0,
    wrong: [],
    refused: 0,
    told: 0,
    closedIdle: 0,
    stayed: [],
    exits: [],
    faults: [],
  };
  const scope = newScope();
  try {
    const { url, remove } = await newDatabaseUrl(engine);
    scope.after(remove);
    const installation = await install(scope, { chunks: 6, url });
    const ledger = new Ledger(installation);
    for (let round = 0; round < rounds; round += 1) {
      const serving = await installation.start();
      if (round > 0) await auditAll(installation, ledger, serving, seen);
      await stopOnce(installation, ledger, serving, round % 2 === 0 ? 'SIGTERM' : 'SIGINT', seen);
      say(`${engine}: ${round + 1} stops, ${seen.answers} answers, the last after ${seen.exits.at(-1)?.millis} ms`);
    }
    await auditAll(installation, ledger, await installation.start(), seen);
  } finally {
    await scope.end();
  }
  return findingsOf(engine, seen);
}

/** One service, its clients, and its end. */
class Round {
  readonly #seen: Seen;
  readonly port: number;
  signalledAt = Number.POSITIVE_INFINITY;

  constructor(serving: ServerProcess, seen: Seen) {
    this.#seen = seen;
    this.port = Number(new URL(serving.base).port);
  }

  get isOver(): boolean {
    return this.signalledAt !== Number.POSITIVE_INFINITY;
  }

  /** Undefined where the service takes no more connections. */
  async open(): Promise<Wire | undefined> {
    try {
      return await Wire.open(this.port);
    } catch (error) {
      if (!this.isOver) this.#seen.wrong.push(`connection: ${error}`);
      this.#seen.refused += 1;
      return undefined;
    }
  }

  /** True where it was answered with 200. */
  judge(what: string, wire: Wire, sentAt: number, heard: Heard): boolean {
    if ('status' in heard) {
      this.#seen.answers += 1;
      if (heard.status !== 200 && heard.status !== 503) this.#seen.wrong.push(`${what}: ${heard.status} ${heard.body}`);
      return heard.status === 200;
    }
    const fault = `${what}: ${heard.cut}, sent ${(sentAt - this.signalledAt).toFixed(1)} ms after the signal`;
    if (wire.openedAt > this.signalledAt) this.#seen.refused += 1;
    else if (sentAt < this.signalledAt) this.#seen.lost.push(fault);
    else if (sentAt < this.signalledAt + openMillis) this.#seen.raced.push(fault);
    else this.#seen.late += 1;
    return false;
  }

  /** Request after request on one connection, until the service ends it. */
  async keepAlive(what: string, turn: () => { bytes: string; done: () => void }): Promise<void> {
    for (let wire = await this.open(); wire !== undefined; wire = await this.open()) {
      while (!wire.isTold && wire.closed === undefined) {
        const { bytes, done } = turn();
        const sentAt = performance.now();
        wire.write(bytes);
        if (this.judge(what, wire, sentAt, await wire.hear())) done();
      }
      if (wire.isTold) this.#seen.told += 1;
      await this.#ends(what, wire);
    }
  }

  /** A connection for each request. */
  async fresh(what: string, bytes: string): Promise<void> {
    for (let wire = await this.open(); wire !== undefined; wire = await this.open()) {
      const sentAt = performance.now();
      wire.write(bytes);
      this.judge(what, wire, sentAt, await wire.hear());
      wire.close();
      await sleep(2);
    }
  }

  /** Several requests at once, again and again. */
  async pipeline(what: string, turn: () => { bytes: string; done: () => void }): Promise<void> {
    for (let wire = await this.open(); wire !== undefined; wire = await this.open()) {
      while (!wire.isTold && wire.closed === undefined) {
        const turns = Array.from({ length: pipelined }, turn);
        const sentAt = performance.now();
        const heard = turns.map(() => wire.hear());
        wire.write(turns.map(({ bytes }) => bytes).join(''));
        for (const [at, one] of (await Promise.all(heard)).entries()) {
          if (this.judge(what, wire, sentAt, one)) turns[at]?.done();
        }
      }
      await this.#ends(what, wire);
    }
  }

  /** One answer, and then nothing more from this client. */
  async idle(bytes: string): Promise<void> {
    const wire = await this.open();
    if (wire === undefined) return;
    const sentAt = performance.now();
    wire.write(bytes);
    this.judge('first of an idle connection', wire, sentAt, await wire.hear());
    await this.#ends('idle', wire);
    this.#seen.closedIdle += 1;
  }

  /** Half before the signal, the rest soon after it. */
  async half(what: string, bytes: string, at: number, signalled: Promise<void>, done: () => void): Promise<void> {
    const wire = await this.open();
    if (wire === undefined) return;
    wire.write(bytes.slice(0, at));
    await signalled;
    await sleep(lateMillis);
    const sentAt = performance.now();
    wire.write(bytes.slice(at));
    if (this.judge(what, wire, sentAt, await wire.hear())) done();
    await this.#ends(what, wire);
  }

  /** The service closes the connection by itself. */
  async #ends(what: string, wire: Wire): Promise<void> {
    const isClosed = await Promise.race([wire.whenClosed.then(() => true), sleep(30_000, false, { ref: false })]);
    if (!isClosed) this.#seen.stayed.push(what);
    wire.close();
  }
}

async function stopOnce(
  installation: Installation,
  ledger: Ledger,
  serving: ServerProcess,
  signal: NodeJS.Signals,
  seen: Seen,
): Promise<void> {
  const { one, admin } = installation;
  const round = new Round(serving, seen);
  const signalled = Promise.withResolvers<void>();
  const page = bytesOf('GET', `/v1/messages?conversation_id=${one.ids.conversation}&limit=5`, one.keys.app);
  const read = () => ({ bytes: page, done: () => undefined });
  const edit = (edits: Edits) => () => {
    const number = (edits.sent += 1);
    const bytes = bytesOf('PATCH', edits.chunk.path, one.keys.knowledge, JSON.stringify({ content: text(number) }));
    return { bytes, done: () => void edits.acknowledged.push(number) };
  };
  const append = () => {
    const added: Append = { name: `append ${randomUUID()}`, size: 3, acknowledged: false };
    ledger.appends.push(added);
    const lines = ndjson(
      Array.from({ length: added.size }, () => message(one.ids.conversation, 1_000, { query: added.name })),
    );
    return { bytes: post(one.keys.writer, lines), done: () => void (added.acknowledged = true) };
  };
  const post = (key: string, lines: string) => bytesOf('POST', '/admin/records', key, lines, 'application/x-ndjson');
  const replaced = ledger.overHttp;
  const number = (replaced.sent += 1);
  const upload = post(admin, ndjson(replacing(replaced, one.ids.conversation, number)));

  const [first, second, third, shared] = [0, 1, 2, ledger.edits.length - 1].map((at) => ledger.edits[at] as Edits);
  if (!first || !second || !third || !shared) throw new Error('the installation has too few chunks');
  const half = edit(third)();
  const clients = [
    round.keepAlive('GET', read),
    round.keepAlive('GET', read),
    round.keepAlive('PATCH', edit(first)),
    round.keepAlive('PATCH', edit(shared)),
    round.keepAlive('PATCH', edit(shared)),
    round.keepAlive('append', append),
    round.keepAlive('append', append),
    round.fresh('GET on a new connection', page),
    round.fresh('GET on a new connection', page),
    round.pipeline('pipelined GET', read),
    round.pipeline('pipelined PATCH', edit(second)),
    round.idle(page),
    round.idle(page),
    round.half('half a head', page, 20, signalled.promise, () => undefined),
    round.half('half a body', half.bytes, half.bytes.length - 5, signalled.promise, half.done),
    round.half('half an import', upload, upload.length >> 1, signalled.promise, () =>
      replaced.acknowledged.push(number),
    ),
  ];
  await sleep(150 + Math.random() * 250);
  round.signalledAt = performance.now();
  serving.signal(signal);
  signalled.resolve();
  const { code } = await serving.ended;
  seen.exits.push({ code, millis: Math.round(performance.now() - round.signalledAt) });
  if (serving.output().includes('stopped before everything was finished')) seen.stayed.push('the service');
  await Promise.all(clients);
}

async function auditAll({ admin }: Installation, ledger: Ledger, { base }: ServerProcess, seen: Seen): Promise<void> {
  const client = new Client();
  const { text } = await client.ask(base, '/admin/records', { key: admin });
  client.close();
  const { lost, torn } = audit(ledger, text);
  seen.faults.push(...lost, ...torn);
}

function findingsOf(engine: Engine, seen: Seen): Finding[] {
  const millis = seen.exits.map((exit) => exit.millis).toSorted((a, b) => a - b);
  const codes = [...new Set(seen.exits.map(({ code }) => code))];
  const stops = `${seen.exits.length} stops on ${engine}`;
  return [
    {
      promise: `${engine}: a request that was sent before the signal gets its whole answer`,
      measured: `${seen.lost.length} cut off, of ${count(seen.answers + seen.lost.length)} in ${stops}${some(seen.lost)}`,
      holds: seen.lost.length === 0,
    },
    {
      promise: `${engine}: so does one sent in the ${openMillis} ms after it on a connection that was open`,
      measured: `${seen.raced.length} cut off, ${seen.late} that were sent later; ${seen.told} connections told to close, ${seen.closedIdle} closed idle, ${seen.refused} came too late${some(seen.raced)}`,
      holds: seen.raced.length === 0 && seen.told > 0 && seen.stayed.length === 0,
    },
    {
      promise: `${engine}: every answer meanwhile is 200 or 503`,
      measured: `${seen.wrong.length} others${some(seen.wrong)}`,
      holds: seen.wrong.length === 0,
    },
    {
      promise: `${engine}: what was acknowledged while it stopped is there`,
      measured: `${seen.faults.length} lost or half done after ${stops}${some(seen.faults)}`,
      holds: seen.faults.length === 0,
    },
    {
      promise: `${engine}: it ends by itself with 0`,
      measured: `exit code ${codes.join(', ')}, after ${millis[millis.length >> 1]} ms (median), at most ${millis.at(-1)} ms`,
      holds: codes.length === 1 && codes[0] === 0,
    },
  ];
}

export const shutdown: Experiment = {
  name: 'shutdown',
  long: async (say) => {
    const findings: Finding[] = [];
    for (const engine of engines) findings.push(...(await stopUnderLoad(engine, { rounds: 30, say })));
    return findings;
  },
};
