import { randomUUID } from 'node:crypto';
import { BroadcastChannel } from 'node:worker_threads';

/** What a worker asks the others to do: to disconnect slow readers, or to close idle connections. */
type PeerCall = 'shed' | 'makeRoom';
type PeerMessage = { call: PeerCall } | { collect: string } | { collected: string; report: unknown };

/** A worker that does not respond in this time, because it is busy or starting, is left out of a report. */
const collectMillisMax = 500;

/** Messages between the workers of a service. They are rare: what every request needs is in shared memory. */
export class Peers {
  readonly #otherWorkers: number;
  readonly #channel: BroadcastChannel | undefined;
  readonly #collecting = new Map<string, (report: unknown) => void>();
  readonly #handlers = new Map<PeerCall, () => void>();
  #report: () => Promise<unknown> = async () => undefined;

  constructor(name: string, workers: number) {
    this.#otherWorkers = workers - 1;
    if (workers === 1) return;
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = (event) => void this.#receive((event as { data: PeerMessage }).data);
    this.#channel.unref();
  }

  /** `handle` is called when another worker asks for it. */
  on(call: PeerCall, handle: () => void): void {
    this.#handlers.set(call, handle);
  }

  call(call: PeerCall): void {
    this.#send({ call });
  }

  /** `report` returns what `collect` of another worker gets. It can be sent to another thread. */
  onCollect(report: () => Promise<unknown>): void {
    this.#report = report;
  }

  /** The reports of the other workers. */
  async collect(): Promise<unknown[]> {
    if (this.#otherWorkers === 0) return [];
    const id = randomUUID();
    const reports: unknown[] = [];
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, collectMillisMax);
      this.#collecting.set(id, (report) => {
        if (reports.push(report) < this.#otherWorkers) return;
        clearTimeout(timer);
        resolve();
      });
      this.#send({ collect: id });
    });
    this.#collecting.delete(id);
    return reports;
  }

  close(): void {
    this.#channel?.close();
  }

  #send(message: PeerMessage): void {
    this.#channel?.postMessage(message);
  }

  async #receive(message: PeerMessage): Promise<void> {
    if ('call' in message) this.#handlers.get(message.call)?.();
    else if ('collected' in message) this.#collecting.get(message.collected)?.(message.report);
    else this.#send({ collected: message.collect, report: await this.#report() });
  }
}
