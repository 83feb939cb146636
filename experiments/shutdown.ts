import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../server/src/contract/limits.ts';
import { call, inScope, type ServerProcess } from '../server/test/support/cli-helpers.ts';
import { type Engine, message, ndjson, newDatabaseUrl } from '../server/test/support/harness.ts';
import { count, type Experiment, type Finding, type Log, onEachEngine, some } from './support/experiment.ts';
import { type Installation, install, text } from './support/installation.ts';
import { type Append, compareExport, type Edits, Ledger, replacementRecords } from './support/ledger.ts';
import { encodeRequest, RawConnection, type RawResult } from './support/raw-connection.ts';

export type ShutdownOptions = { rounds: number; log?: Log };

/** For this long after the signal an open connection stays open, however slow the machine is. */
const openMillis = limits.lingerMillis / 2;
const pipelineLength = 5;
const lateMillis = 100;

type Results = {
  responses: number;
  /** Requests without a response, sent before the signal on an open connection. */
  lost: string[];
  /** Requests without a response, sent soon after the signal on a connection whose close was not announced. */
  raced: string[];
  /** Requests without a response, sent later: a race that HTTP cannot avoid. */
  late: number;
  unexpected: string[];
  /** New connections that came too late. */
  refused: number;
  /** Connections closed with `Connection: close`. */
  announced: number;
  closedIdle: number;
  /** Connections that the service did not close. */
  notClosed: string[];
  exits: { code: number | null; millis: number }[];
  faults: string[];
};

/** Sends SIGTERM and SIGINT to a service under load from every kind of client. */
export async function stopUnderLoad(
  engine: Engine,
  { rounds, log = () => undefined }: ShutdownOptions,
): Promise<Finding[]> {
  const results: Results = {
    ...{ responses: 0, late: 0, refused: 0, announced: 0, closedIdle: 0 },
    ...{ lost: [], raced: [], unexpected: [], notClosed: [], exits: [], faults: [] },
  };
  await inScope(async (scope) => {
    const { url, remove } = await newDatabaseUrl(engine);
    scope.after(remove);
    const installation = await install(scope, { chunks: 6, url });
    const ledger = new Ledger(installation);
    for (let round = 0; round < rounds; round += 1) {
      const serving = await installation.start();
      if (round > 0) await checkAll(installation, ledger, results);
      await stopOnce(installation, ledger, serving, round % 2 === 0 ? 'SIGTERM' : 'SIGINT', results);
      log(
        `${engine}: ${round + 1} stops, ${results.responses} responses, the last stop took ${results.exits.at(-1)?.millis} ms`,
      );
    }
    await checkAll(installation, ledger, results);
  });
  return findingsOf(engine, results);
}

/** One service, its clients and its shutdown. */
class Round {
  readonly #results: Results;
  readonly port: number;
  signalledAt = Number.POSITIVE_INFINITY;

  constructor(serving: ServerProcess, results: Results) {
    this.#results = results;
    this.port = Number(new URL(serving.base).port);
  }

  get isOver(): boolean {
    return this.signalledAt !== Number.POSITIVE_INFINITY;
  }

  /** Undefined when the service no longer accepts connections. */
  async open(): Promise<RawConnection | undefined> {
    try {
      return await RawConnection.open(this.port);
    } catch (error) {
      if (!this.isOver) this.#results.unexpected.push(`connection: ${error}`);
      this.#results.refused += 1;
      return undefined;
    }
  }

  /** Counts the result of a request. Returns true if the status is 200. */
  count(what: string, connection: RawConnection, sentAt: number, result: RawResult): boolean {
    if ('status' in result) {
      const { status, body } = result;
      this.#results.responses += 1;
      if (status !== 200 && status !== 503) this.#results.unexpected.push(`${what}: ${status} ${body}`);
      return status === 200;
    }
    const fault = `${what}: ${result.cut}, sent ${(sentAt - this.signalledAt).toFixed(1)} ms after the signal`;
    if (connection.openedAt > this.signalledAt) this.#results.refused += 1;
    else if (sentAt < this.signalledAt) this.#results.lost.push(fault);
    else if (sentAt < this.signalledAt + openMillis) this.#results.raced.push(fault);
    else this.#results.late += 1;
    return false;
  }

  /** Sends request after request on one connection until the service closes it. */
  async keepAlive(what: string, nextRequest: () => { bytes: string; done: () => void }): Promise<void> {
    for (let connection = await this.open(); connection !== undefined; connection = await this.open()) {
      while (!connection.isCloseAnnounced && connection.closed === undefined) {
        const { bytes, done } = nextRequest();
        const sentAt = performance.now();
        connection.write(bytes);
        if (this.count(what, connection, sentAt, await connection.nextResponse())) done();
      }
      if (connection.isCloseAnnounced) this.#results.announced += 1;
      await this.#awaitClose(what, connection);
    }
  }

  /** Opens a new connection for each request. */
  async newConnections(what: string, bytes: string): Promise<void> {
    for (let connection = await this.open(); connection !== undefined; connection = await this.open()) {
      const sentAt = performance.now();
      connection.write(bytes);
      this.count(what, connection, sentAt, await connection.nextResponse());
      connection.close();
      await sleep(2);
    }
  }

  /** Sends several requests at once, repeatedly. */
  async pipeline(what: string, nextRequest: () => { bytes: string; done: () => void }): Promise<void> {
    for (let connection = await this.open(); connection !== undefined; connection = await this.open()) {
      while (!connection.isCloseAnnounced && connection.closed === undefined) {
        const requests = Array.from({ length: pipelineLength }, nextRequest);
        const sentAt = performance.now();
        const responses = requests.map(() => connection.nextResponse());
        connection.write(requests.map(({ bytes }) => bytes).join(''));
        for (const [at, result] of (await Promise.all(responses)).entries()) {
          if (this.count(what, connection, sentAt, result)) requests[at]?.done();
        }
      }
      await this.#awaitClose(what, connection);
    }
  }

  /** Sends one request, then leaves the connection idle. */
  async idle(bytes: string): Promise<void> {
    const connection = await this.open();
    if (connection === undefined) return;
    const sentAt = performance.now();
    connection.write(bytes);
    this.count('first request of an idle connection', connection, sentAt, await connection.nextResponse());
    await this.#awaitClose('idle', connection);
    this.#results.closedIdle += 1;
  }

  /** Sends the first part of a request before the signal, and the rest soon after it. */
  async splitRequest(
    what: string,
    bytes: string,
    at: number,
    signalled: Promise<void>,
    done: () => void,
  ): Promise<void> {
    const connection = await this.open();
    if (connection === undefined) return;
    connection.write(bytes.slice(0, at));
    await signalled;
    await sleep(lateMillis);
    const sentAt = performance.now();
    connection.write(bytes.slice(at));
    if (this.count(what, connection, sentAt, await connection.nextResponse())) done();
    await this.#awaitClose(what, connection);
  }

  /** Waits until the service closes the connection. */
  async #awaitClose(what: string, connection: RawConnection): Promise<void> {
    const isClosed = await Promise.race([connection.whenClosed.then(() => true), sleep(30_000, false, { ref: false })]);
    if (!isClosed) this.#results.notClosed.push(what);
    connection.close();
  }
}

async function stopOnce(
  installation: Installation,
  ledger: Ledger,
  serving: ServerProcess,
  signal: NodeJS.Signals,
  results: Results,
): Promise<void> {
  const { one, admin } = installation;
  const round = new Round(serving, results);
  const signalled = Promise.withResolvers<void>();
  const page = encodeRequest('GET', `/v1/messages?conversation_id=${one.ids.conversation}&limit=5`, one.keys.app);
  const read = () => ({ bytes: page, done: () => undefined });
  const edit = (edits: Edits) => () => {
    const number = (edits.sent += 1);
    const bytes = encodeRequest(
      'PATCH',
      edits.chunk.path,
      one.keys.knowledge,
      JSON.stringify({ content: text(number) }),
    );
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
  const post = (key: string, lines: string) =>
    encodeRequest('POST', '/admin/records', key, lines, 'application/x-ndjson');
  const replaced = ledger.overHttp;
  const number = (replaced.sent += 1);
  const upload = post(admin, ndjson(replacementRecords(replaced, one.ids.conversation, number)));

  const [first, second, third, shared] = [0, 1, 2, ledger.edits.length - 1].map((at) => ledger.edits[at] as Edits);
  if (!first || !second || !third || !shared) throw new Error('the installation has too few chunks');
  const splitEdit = edit(third)();
  const clients = [
    round.keepAlive('GET', read),
    round.keepAlive('GET', read),
    round.keepAlive('PATCH', edit(first)),
    round.keepAlive('PATCH', edit(shared)),
    round.keepAlive('PATCH', edit(shared)),
    round.keepAlive('append', append),
    round.keepAlive('append', append),
    round.newConnections('GET on a new connection', page),
    round.newConnections('GET on a new connection', page),
    round.pipeline('pipelined GET', read),
    round.pipeline('pipelined PATCH', edit(second)),
    round.idle(page),
    round.idle(page),
    round.splitRequest('split head', page, 20, signalled.promise, () => undefined),
    round.splitRequest('split body', splitEdit.bytes, splitEdit.bytes.length - 5, signalled.promise, splitEdit.done),
    round.splitRequest('split import', upload, upload.length >> 1, signalled.promise, () =>
      replaced.acknowledged.push(number),
    ),
  ];
  await sleep(150 + Math.random() * 250);
  round.signalledAt = performance.now();
  serving.signal(signal);
  signalled.resolve();
  const { code } = await serving.ended;
  results.exits.push({ code, millis: Math.round(performance.now() - round.signalledAt) });
  if (serving.output().includes('stopped before everything was finished')) results.notClosed.push('the service');
  await Promise.all(clients);
}

async function checkAll({ cwd, env }: Installation, ledger: Ledger, results: Results): Promise<void> {
  const { stdout: text } = await call(['export'], { cwd, env });
  const { lost, torn } = compareExport(ledger, text);
  results.faults.push(...lost, ...torn);
}

function findingsOf(engine: Engine, results: Results): Finding[] {
  const millis = results.exits.map((exit) => exit.millis).toSorted((a, b) => a - b);
  const codes = [...new Set(results.exits.map(({ code }) => code))];
  const stops = `${results.exits.length} stops on ${engine}`;
  return [
    {
      promise: `${engine}: a request sent before the signal gets its complete response`,
      measured: `${results.lost.length} cut off, of ${count(results.responses + results.lost.length)} in ${stops}${some(results.lost)}`,
      holds: results.lost.length === 0,
    },
    {
      promise: `${engine}: a request sent within ${openMillis} ms after the signal on an open connection gets it too`,
      measured: `${results.raced.length} cut off, ${results.late} of those sent later; ${results.announced} connections closed with Connection: close, ${results.closedIdle} closed idle, ${results.refused} came too late${some(results.raced)}`,
      holds: results.raced.length === 0 && results.announced > 0 && results.notClosed.length === 0,
    },
    {
      promise: `${engine}: every response in the meantime is 200 or 503`,
      measured: `${results.unexpected.length} others${some(results.unexpected)}`,
      holds: results.unexpected.length === 0,
    },
    {
      promise: `${engine}: writes acknowledged during the shutdown are stored`,
      measured: `${results.faults.length} lost or partial after ${stops}${some(results.faults)}`,
      holds: results.faults.length === 0,
    },
    {
      promise: `${engine}: the process exits by itself with 0`,
      measured: `exit code ${codes.join(', ')}, after ${millis[millis.length >> 1]} ms (median), at most ${millis.at(-1)} ms`,
      holds: codes.length === 1 && codes[0] === 0,
    },
  ];
}

export const shutdown: Experiment = {
  name: 'shutdown',
  long: onEachEngine((engine, log) => stopUnderLoad(engine, { rounds: 30, log })),
};
