import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../../domain/errors.ts';
import type { Reader, Value } from '../../base/engine.ts';
import { isSilence, notAvailable } from './errors.ts';
import { findNodesOf, findOtherNodes, markedValue, type Node, probeNode } from './routes.ts';

/** The time between two probes. */
const pauseMillis = 1_000;
/** What waits this long for its server is a reason to probe it. */
const suspectMillis = 1_000;
/** While a node is silent, a statement that may need it fails after this time, and is tried again after the other. */
const trialMillis = 500;
const retryMillis = 30_000;

/** Runs `work` on a connection of its own, with short time limits. */
export type Probe = <T>(work: (read: Reader) => Promise<T>) => Promise<T>;

/** A statement, with `$1`, `$2`, … for its parameters. */
type Needing = { text: string; values: readonly Value[] };
/** What waits for the server, and for the nodes that a statement needs. */
type Waiting = { statement: Needing | undefined; reject: (error: Error) => void };

/**
 * A server that accepts connections and does not respond would hold all connections of the pool. When something waits long,
 * probes find out which servers are silent: the server itself, or nodes of its cluster behind it. What waits for them fails then,
 * and so does, at once, what needs them until a later probe succeeds. While nothing waits long, nothing is probed.
 */
export class Breaker {
  readonly #probe: Probe;
  /** Statements without a distribution value: 0 if they run without the silent nodes, or else when they are tried again. */
  readonly #trials = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #isWatching = false;
  #isSuspected = false;
  #isClosed = false;
  #isSilent = false;
  #silentNodes: readonly Node[] = [];

  constructor(probe: Probe) {
    this.#probe = probe;
  }

  get hasSilentNodes(): boolean {
    return this.#silentNodes.length > 0;
  }

  /** Something takes too long: the servers are probed, at most once a second. */
  suspect(): void {
    this.#isSuspected = true;
    if (!this.#isWatching && !this.#isClosed) void this.#watch();
  }

  /** Waits for a statement, or for a connection; not for a server or a node that is silent. */
  async waitFor<T>(running: Promise<T>, statement?: Needing): Promise<T> {
    const { promise: failed, reject } = Promise.withResolvers<never>();
    const waiting = { statement, reject };
    const wait = () => {
      this.#waiting.add(waiting);
      this.suspect();
      this.#failTrial(waiting);
    };
    const timer = setTimeout(wait, this.hasSilentNodes ? trialMillis : suspectMillis);
    try {
      const result = await Promise.race([running, failed]);
      if (this.hasSilentNodes && statement !== undefined) this.#trials.set(statement.text, 0);
      return result;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(waiting);
    }
  }

  requireServer(): void {
    if (this.#isSilent) throw silent('');
  }

  /**
   * Which nodes a statement needs is known of one that marks its distribution value. Any other one needs the same nodes each time,
   * whatever its values: it is tried, and if it has waited, it fails at once until it is tried again.
   */
  async requireNodes(statement: Needing, read: Reader): Promise<void> {
    const value = markedValue(statement);
    const next = this.#trials.get(statement.text) ?? 0;
    const needed = value === undefined ? [] : await findNodesOf(value, read);
    const isNeeded = (node: Node) =>
      value === undefined ? performance.now() < next : needed.some(({ groupid }) => groupid === node.groupid);
    const node = this.#silentNodes.find(isNeeded);
    if (node !== undefined) throw silentNode(node);
    if (next > 0) this.#trials.set(statement.text, performance.now() + retryMillis);
  }

  close(): void {
    this.#isClosed = true;
  }

  async #watch(): Promise<void> {
    this.#isWatching = true;
    do {
      this.#isSuspected = false;
      const nodes = await this.#respond((read) => findOtherNodes(read));
      this.#isSilent = nodes === 'silent';
      const probed = Array.isArray(nodes) ? nodes : [];
      const responses = probed.map(({ nodename, nodeport }) =>
        this.#respond((read) => read(probeNode, nodename, nodeport)),
      );
      const isSilent = (await Promise.all(responses)).map((response) => response === 'silent');
      this.#silentNodes = probed.filter((_, at) => isSilent[at]);
      if (!this.hasSilentNodes) this.#trials.clear();
      if (this.#isSilent || this.hasSilentNodes) await this.#failWaiting();
      await sleep(pauseMillis, undefined, { ref: false });
    } while (!this.#isClosed && (this.#isSuspected || this.#isSilent || this.hasSilentNodes));
    this.#isWatching = false;
  }

  async #failWaiting(): Promise<void> {
    if (this.#isSilent) for (const { reject } of this.#waiting) reject(silent(''));
    else
      await this.#respond(async (read) => {
        for (const waiting of this.#waiting) {
          this.#failTrial(waiting);
          const { statement, reject } = waiting;
          if (statement !== undefined)
            await this.requireNodes(statement, read).catch((error) => error instanceof ServiceError && reject(error));
        }
      });
  }

  #failTrial({ statement, reject }: Waiting): void {
    const [some] = this.#silentNodes;
    if (some === undefined || statement === undefined || markedValue(statement) !== undefined) return;
    if (this.#trials.get(statement.text) === 0) return;
    this.#trials.set(statement.text, performance.now() + retryMillis);
    reject(silentNode(some));
  }

  /** A server that rejects a connection is not silent: the statements that need it fail at once anyway. */
  async #respond<T>(work: (read: Reader) => Promise<T>): Promise<T | 'silent' | 'failed'> {
    try {
      return await this.#probe(work);
    } catch (error) {
      return isSilence(error) ? 'silent' : 'failed';
    }
  }
}

const silentNode = ({ nodename, nodeport }: Node) => silent(`${nodename}:${nodeport}`);
const silent = (node: string) =>
  notAvailable(new Error(`the ${node === '' ? 'server' : `node ${node}`} does not respond`), { cause: 'silent', node });
