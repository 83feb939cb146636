import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../../domain/errors.ts';
import type { Reader, Value } from '../../base/engine.ts';
import { isSilence, notAvailable } from './errors.ts';
import { findNodesOf, findOtherNodes, type Node, probeNode, routeOf } from './routes.ts';

/** The time between two probes. */
const pauseMillis = 1_000;
/** What waits this long for its server is a reason to probe it. */
const suspectMillis = 1_000;

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
  readonly #routes = new Map<string, ReturnType<typeof routeOf>>();
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
    const timer = setTimeout(() => {
      this.#waiting.add(waiting);
      this.suspect();
    }, suspectMillis);
    try {
      return await Promise.race([running, failed]);
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(waiting);
    }
  }

  requireServer(): void {
    if (this.#isSilent) throw silent('');
  }

  async requireNodes({ text, values }: Needing, read: Reader): Promise<void> {
    let route = this.#routes.get(text);
    if (route === undefined) this.#routes.set(text, (route = routeOf(text)));
    const needed = await findNodesOf(route, values, read);
    const node = this.#silentNodes.find(({ groupid }) => needed?.includes(groupid) ?? true);
    if (node !== undefined) throw silent(`${node.nodename}:${node.nodeport}`);
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
      if (this.#isSilent || this.hasSilentNodes) await this.#failWaiting();
      await sleep(pauseMillis, undefined, { ref: false });
    } while (!this.#isClosed && (this.#isSuspected || this.#isSilent || this.hasSilentNodes));
    this.#isWatching = false;
  }

  async #failWaiting(): Promise<void> {
    if (this.#isSilent) for (const { reject } of this.#waiting) reject(silent(''));
    else
      await this.#respond(async (read) => {
        for (const { statement, reject } of this.#waiting)
          if (statement !== undefined)
            await this.requireNodes(statement, read).catch((error) => error instanceof ServiceError && reject(error));
      });
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

const silent = (node: string) =>
  notAvailable(new Error(`the ${node === '' ? 'server' : `node ${node}`} does not respond`), { cause: 'silent', node });
