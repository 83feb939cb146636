import { setTimeout as sleep } from 'node:timers/promises';
import type { Reader, Value } from '../../base/engine.ts';
import { isSilence, notAvailable } from './errors.ts';
import { findNodesOf, findOtherNodes, type Node, probeNode, routeOf } from './routes.ts';

/** The time between two probes. */
const pauseMillis = 1_000;

/** Runs `work` on a connection of its own, with short time limits. */
export type Probe = <T>(work: (read: Reader) => Promise<T>) => Promise<T>;

/**
 * A server that accepts connections and does not respond would hold all connections of the pool. After a timeout, probes
 * find out which servers are silent: the server itself, or nodes of its cluster behind it. Until a later probe succeeds,
 * statements that need them fail at once. While all respond, nothing is probed.
 */
export class Breaker {
  readonly #probe: Probe;
  readonly #routes = new Map<string, ReturnType<typeof routeOf>>();
  #isWatching = false;
  #isClosed = false;
  #isSilent = false;
  #silentNodes: readonly Node[] = [];

  constructor(probe: Probe) {
    this.#probe = probe;
  }

  get hasSilentNodes(): boolean {
    return this.#silentNodes.length > 0;
  }

  /** A statement or a connection has taken too long: the servers are probed, unless they were within the last second. */
  suspect(): void {
    if (!this.#isWatching && !this.#isClosed) void this.#watch();
  }

  requireServer(): void {
    if (this.#isSilent) throw silent('');
  }

  /** `text` is a statement with `$1`, `$2`, … for its parameters. */
  async requireNodes(text: string, values: readonly Value[], read: Reader): Promise<void> {
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
      const nodes = await this.#respond((read) => findOtherNodes(read));
      this.#isSilent = nodes === 'silent';
      const probed = Array.isArray(nodes) ? nodes : [];
      const responses = probed.map(({ nodename, nodeport }) =>
        this.#respond((read) => read(probeNode, nodename, nodeport)),
      );
      const isSilent = (await Promise.all(responses)).map((response) => response === 'silent');
      this.#silentNodes = probed.filter((_, at) => isSilent[at]);
      await sleep(pauseMillis, undefined, { ref: false });
    } while (!this.#isClosed && (this.#isSilent || this.hasSilentNodes));
    this.#isWatching = false;
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
