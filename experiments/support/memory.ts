import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerProcess } from '../../server/test/support/cli-helpers.ts';
import type { Finding } from './experiment.ts';

/** Environment of a served process whose memory is measured. */
export const memoryProbe = {
  NODE_OPTIONS: `--expose-gc --import=${new URL('collect-on-signal.ts', import.meta.url)}`,
};

/** The memory of a process, in bytes. */
export type Memory = {
  /** Used by JavaScript after a garbage collection. */
  inUse: number;
  /** Resident, without mapped files such as the database. */
  resident: number;
};

const idleMillis = 3_000;
const mebibyte = 2 ** 20;
/** Room for caches of pages and keys. */
const inUseGrowthMax = 24 * mebibyte;
/** Memory that is not yet returned to the system varies by tens of MiB. */
const residentGrowthMax = 64 * mebibyte;

/** Measures once the process is idle. Linux only. */
export async function measureMemory({ pid, output, signal }: ServerProcess, waitMillis = idleMillis): Promise<Memory> {
  await sleep(waitMillis);
  const before = output().length;
  signal('SIGUSR2');
  for (;;) {
    const reported = /^in use: (\d+)$/m.exec(output().slice(before))?.[1];
    if (reported === undefined) {
      await sleep(50);
      continue;
    }
    const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return { inUse: Number(reported), resident: Number(kilobytes) * 1024 };
  }
}

export const showMemory = ({ inUse, resident }: Memory): string =>
  `${(inUse / mebibyte).toFixed(0)} MiB in use, ${(resident / mebibyte).toFixed(0)} resident`;

/** The first measurement is made after a warm-up. */
export function memoryFinding(measured: readonly Memory[]): Finding {
  const [first, last] = [measured[0], measured.at(-1)];
  if (first === undefined || last === undefined) throw new Error('memory was not measured');
  return {
    promise: 'memory stays flat',
    measured: `after the warm-up and each further quarter: ${measured.map(showMemory).join('; ')}`,
    holds: last.inUse - first.inUse <= inUseGrowthMax && last.resident - first.resident <= residentGrowthMax,
  };
}
