import { readFileSync } from 'node:fs';
import type { Sample } from './series-table.ts';

/** The processor time of the process, for a metric of this name. */
export function processorSeconds(name: string): number {
  const { user, system } = process.cpuUsage();
  const micros = name.includes('_user_') ? user : name.includes('_system_') ? system : user + system;
  return micros / 1e6;
}

/** What Linux calls the parts of the resident memory of a process. Shared memory is files, too: those of a disk in memory. */
const fields = { anonymous: ['RssAnon'], file: ['RssFile', 'RssShmem'] };

/**
 * The parts of the resident memory. Linux only. `file` has the mapped pages of the database once for each thread that reads them;
 * the system has them once, and drops them when it needs the memory.
 */
export function memoryParts(): Sample[] {
  if (process.platform !== 'linux') return [];
  const status = readFileSync('/proc/self/status', 'utf8');
  const kibibytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0);
  return Object.entries(fields).map(([part, names]) => ({
    labels: { part },
    value: names.reduce((sum, name) => sum + kibibytes(name), 0) * 1024,
  }));
}
