import type { MessagePort } from 'node:worker_threads';
import type { ErrorMessage } from '../../domain/errors.ts';
import type { WriteInput, WriteName } from '../base/engine.ts';

/** The connection of one thread to the writer thread. It can be sent to another thread; then `port` must be transferred. */
export type WriterLink = {
  port: MessagePort;
  /** The state of the group of writes that the thread has sent; see `groupStates`. */
  group: Int32Array<SharedArrayBuffer>;
  /** 1 while a long write of any thread is running. */
  longWrite: Int32Array<SharedArrayBuffer>;
  /** The number of commits. It changes before the writes of a commit are acknowledged. */
  commits: Int32Array<SharedArrayBuffer>;
};

/**
 * A thread has at most one group of writes at the writer. It can withdraw the group while the writer has not taken it,
 * which happens when a long write of another thread is running. Both sides change the state with `compareExchange`, so only
 * one of them succeeds.
 */
export const groupStates = { sent: 1, taken: 2, withdrawn: 3 } as const;

/** The source of a thread's link to the writer: one at the start, and another one whenever the writer was replaced. */
export interface WriterLinks {
  /** Returns a function that ends the subscription. */
  subscribe(use: (link: WriterLink) => void): () => void;
}

/** Messages between a thread and the writer thread. */
export type QueuedWrite = { [N in WriteName]: { name: N; input: WriteInput<N> } }[WriteName];
export type WriteOutcome = { result: unknown } | { failure: ErrorMessage };
export type WriterMessage = { outcomes: WriteOutcome[] } | { busy: true } | { applied: number } | { withdrawn: true };

const longWrites: readonly WriteName[] = ['eraseConversations', 'rebuildFile', 'emptyLog', 'resetIndex'];

/** Such a write is sent and committed alone. */
export const isLong = (write: QueuedWrite): boolean =>
  longWrites.includes(write.name) || (write.name === 'applyRecords' && 'fd' in write.input.spool);
