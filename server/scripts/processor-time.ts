import { readFileSync } from 'node:fs';

/** Seconds of processor time of this process and of its ended children. Only Linux tells the latter. */
export function processorSeconds(): number {
  if (process.platform !== 'linux') {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // The fields after the name of the command, which may contain spaces; in hundredths of a second.
  const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) / 100;
}
