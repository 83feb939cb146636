import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerProcess } from '../../test/support/cli-helpers.ts';
import type { Finding } from './experiment.ts';

/** Settings for a served process whose memory is measured. */
export const measurable = {
  NODE_OPTIONS: `--expose-gc --import=${new URL('collect-on-signal.ts', import.meta.url)}`,
};

/** What a process holds, in bytes. */
export type Memory = {
  /** By JavaScript, after garbage was collected. */
  inUse: number;
  /** Of the system, but for files, which the database maps. */
  held: number;
};

const idleMillis = 3_000;
const mebibyte = 2 ** 20;
/** Pages and keys that were asked for lately. */
const inUseGrowthMax = 24 * mebibyte;
/** What the system gave and did not get back yet goes up and down by tens of MiB. */
const heldGrowthMax = 64 * mebibyte;

/** Once it is idle. Linux only. */
export async function measureMemory({ pid, output, signal }: ServerProcess): Promise<Memory> {
  await sleep(idleMillis);
  const before = output().length;
  signal('SIGUSR2');
  for (;;) {
    const said = /^in use: (\d+)$/m.exec(output().slice(before))?.[1];
    if (said === undefined) {
      await sleep(50);
      continue;
    }
    const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return { inUse: Number(said), held: Number(kilobytes) * 1024 };
  }
}

export const showMemory = ({ inUse, held }: Memory): string =>
  `${(inUse / mebibyte).toFixed(0)} MiB in use, ${(held / mebibyte).toFixed(0)} held`;

/** The first was measured after a warm-up. */
export function memoryFinding(measured: readonly Memory[]): Finding {
  const [first, last] = [measured[0], measured.at(-1)];
  if (first === undefined || last === undefined) throw new Error('memory was not measured');
  return {
    promise: 'memory stays flat',
    measured: `after the warm-up and each further quarter: ${measured.map(showMemory).join('; ')}`,
    holds: last.inUse - first.inUse <= inUseGrowthMax && last.held - first.held <= heldGrowthMax,
  };
}
