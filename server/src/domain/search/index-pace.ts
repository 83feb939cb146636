import type { ChangeCounts } from '../store/change-reads.ts';

/** Commits per second from which on others are writing. */
const indexBusyCommits = 10;
/** While others write, the indexer works for the first share of the time, and for up to the second if it lags but can keep up. */
const indexShareMin = 1 / 40;
export const indexShareMax = 1 / 3;
/** Duration of a transaction of the indexer while others write. */
export const indexBusyMillis = 10;
/** What the commits of a step take, which are not counted as its work. */
const indexCommitMillis = 5;
/** The longest pause. */
const indexPauseMillisMax = 3_000;

/** The last step of the indexer: its duration, how long it has worked, without waiting for others, and how many records it has indexed. */
export type StepCost = { millis: number; workedMillis: number; records: number };

/** What a step or a change of the head counts when the next one is added. */
const rateMemory = 0.8;

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
  readonly #otherRate = new RecentRate();
  readonly #ownRate = new RecentRate();
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
    this.#isBusy = commits / (hasMoved ? step.millis : now - this.#seenAt) > indexBusyCommits / 1_000;
    if (hasMoved && this.#position !== undefined) this.#otherRate.add(position - this.#position, now - this.#movedAt);
    if (hasMoved) this.#movedAt = now;
    if (step.records > 0) this.#ownRate.add(step.records, step.workedMillis);
    this.#position = position;
    this.#unsequenced = unsequenced;
    this.#seenAt = now;
  }

  /** The pause after a step. `lagSeconds`: the age of the oldest change that is not indexed. */
  pauseMillis({ workedMillis }: StepCost, lagSeconds: number): number {
    const neededShare = this.#otherRate.perMilli / this.#ownRate.perMilli;
    const share =
      neededShare > indexShareMax ? indexShareMin : Math.min(indexShareMin * 2 ** lagSeconds, indexShareMax);
    const work = workedMillis + indexCommitMillis;
    return Math.min(work / share - work, indexPauseMillisMax);
  }
}

/** Records per millisecond, of which the last ones count most: one step among many may have waited for long. */
class RecentRate {
  #records = 0;
  #millis = 0;

  get perMilli(): number {
    return this.#records / this.#millis;
  }

  add(records: number, millis: number): void {
    this.#records = this.#records * rateMemory + records;
    this.#millis = this.#millis * rateMemory + millis;
  }
}
