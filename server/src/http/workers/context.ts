import { Peers } from './peers.ts';

/** Memory that the workers of one service share, so that limits and totals are those of the whole service. It can be sent to a thread. */
export type SharedState = {
  readonly workers: number;
  /** The name of the channel between the workers. */
  readonly channel: string;
  readonly connections: SharedArrayBuffer;
  readonly inFlight: SharedArrayBuffer;
  readonly waiting: SharedArrayBuffer;
  readonly passedOn: SharedArrayBuffer;
  readonly unstoredDoubts: SharedArrayBuffer;
  readonly slowReaders: SharedArrayBuffer;
  readonly failedKeys: SharedArrayBuffer;
  readonly rejectedKeys: SharedArrayBuffer;
  readonly requestLimit: SharedArrayBuffer;
  readonly writeLimit: SharedArrayBuffer;
  readonly outages: SharedArrayBuffer;
  readonly series: SharedArrayBuffer;
  readonly traffic: SharedArrayBuffer;
  readonly failures: SharedArrayBuffer;
  readonly droppedLogLines: SharedArrayBuffer;
};

/** One of the workers: its number from 0, and what it needs to work with the others. */
export type WorkerContext = { worker: number; shared: SharedState; peers: Peers };

export function contextOf(shared: SharedState, worker: number): WorkerContext {
  return { worker, shared, peers: new Peers(shared.channel, shared.workers) };
}
