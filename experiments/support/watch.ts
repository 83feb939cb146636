import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Engine } from '../../server/test/support/harness.ts';
import { count, type Finding } from './experiment.ts';

const healthMillisMax = 1_000;

export type Watched = {
  /** The longest check, without the time in which the machine stood still. */
  healthMillis: number;
  stalledMillis: number;
  /** The most processor time of one thread of the service during one check. */
  heldMillis: number;
  peakMebibytes: number;
  statuses: ReadonlySet<number>;
};

/** `started`: after the first check. */
export type ServiceWatch = { started: Promise<unknown>; end: () => Promise<Watched> };

/**
 * Health checks of a service, one after another, and the private memory of its process, until it is ended. In a thread:
 * the clients of this process read hundreds of megabytes, and a check must not wait for them.
 */
export function watchService(base: string, pid: number, path = '/health/ready'): ServiceWatch {
  const thread = new Worker(new URL('./watch-thread.ts', import.meta.url), { workerData: { base, pid, path } });
  const started = once(thread, 'message');
  // Its process has ended.
  thread.on('error', () => undefined);
  return {
    started,
    end: async () => {
      await started;
      const result = once(thread, 'message');
      thread.postMessage('end');
      const [watched] = await result;
      return watched;
    },
  };
}

/** Health checks and memory of a service that was watched. */
export function judgeService(
  engine: Engine,
  { healthMillis, stalledMillis, peakMebibytes, statuses }: Watched,
  mebibytesMax: number,
): Finding[] {
  return [
    {
      promise: `${engine}: health checks succeed meanwhile, within ${count(healthMillisMax)} ms`,
      measured:
        `longest ${healthMillis.toFixed(0)} ms, statuses ${[...statuses].join(', ')}; ` +
        `the machine stood still for ${stalledMillis.toFixed(0)} ms in all`,
      holds: healthMillis <= healthMillisMax && statuses.size === 1 && statuses.has(200),
    },
    {
      promise: `${engine}: private memory stays below ${mebibytesMax} MiB`,
      measured: `at most ${peakMebibytes.toFixed(0)} MiB`,
      holds: peakMebibytes < mebibytesMax,
    },
  ];
}
