import { limits } from '../../contract/limits.ts';
import type { ChangeCounts } from '../store/change-reads.ts';

/** The last step of the indexer: how long it took, and how many records it has indexed. */
export type StepCost = { millis: number; records: number };

/**
 * How long the indexer pauses while others write, so that they hardly notice it. It takes a small share of the time, and more
 * the longer it lags. If it could not keep up even with the largest share, it takes the smallest: then the index falls behind rather
 * than slow them down, and catches up when there is less to write.
 */
export class IndexPace {
  #unsequenced = 0;
  #seenAt = 0;
  #position: number | undefined;
  #movedAt = 0;
  #changesPerSecond = 0;
  #millisPerRecord = 0;
  #isBusy = false;

  /** Whether others commit often. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** To be called after each step. `now` is a monotonic clock in milliseconds. */
  note(step: StepCost, { position, unsequenced }: Pick<ChangeCounts, 'position' | 'unsequenced'>, now: number): void {
    const hasMoved = position !== this.#position;
    // Each commit of others adds an outbox entry; a step that reads the feed sequences them, which moves the head.
    const commits = hasMoved ? unsequenced : unsequenced - this.#unsequenced;
    this.#isBusy = commits / (hasMoved ? step.millis : now - this.#seenAt) > limits.indexBusyCommits / 1_000;
    if (hasMoved && this.#position !== undefined) {
      this.#changesPerSecond = (1_000 * (position - this.#position)) / (now - this.#movedAt);
    }
    if (hasMoved) this.#movedAt = now;
    if (step.records > 0) this.#millisPerRecord = step.millis / step.records;
    this.#position = position;
    this.#unsequenced = unsequenced;
    this.#seenAt = now;
  }

  /** The pause after a step of this many milliseconds. `lagSeconds`: the age of the oldest change that is not indexed. */
  pauseMillis(stepMillis: number, lagSeconds: number): number {
    const { indexShareMin, indexShareMax, indexPauseMillisMax } = limits;
    const neededShare = (this.#changesPerSecond * this.#millisPerRecord) / 1_000;
    const share =
      neededShare > indexShareMax ? indexShareMin : Math.min(indexShareMin * 2 ** lagSeconds, indexShareMax);
    return Math.min(stepMillis / share - stepMillis, indexPauseMillisMax);
  }
}
