import { globSync, readFileSync } from 'node:fs';

/** Seconds of processor time of this process and of its ended children. Only Linux tells the latter. */
export function processorSeconds(): number {
  if (process.platform !== 'linux') {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
  // In hundredths of a second.
  return (
    fieldsOf('self')
      .slice(11, 15)
      .reduce((sum, field) => sum + Number(field), 0) / 100
  );
}

/** Kills the processes that this one has started. Only Linux tells which. */
export function killChildren(): void {
  for (const pid of globSync('[0-9]*', { cwd: '/proc' })) {
    try {
      if (fieldsOf(pid)[1] === String(process.pid)) process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** What Linux says about a process, after the name of its command, which may contain spaces. */
function fieldsOf(pid: string): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
}
