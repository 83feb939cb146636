import { appendFileSync, readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

export type ProcessorTime = { own: number; children: number };
export type FileTime = { file: string; wall: number; processor: number };

/** Seconds of processor time of this process and of its ended children. Only Linux tells the latter. */
export function processorTime(): ProcessorTime {
  if (process.platform !== 'linux') {
    const { user, system } = process.cpuUsage();
    return { own: (user + system) / 1e6, children: 0 };
  }
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // The fields after the name of the command, which may contain spaces; in hundredths of a second.
  const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
  const seconds = (first: number) => (Number(fields[first]) + Number(fields[first + 1])) / 100;
  return { own: seconds(11), children: seconds(13) };
}

/** Loaded before each test file: at its end, adds its times to a file, for `test.ts`. */
const times = process.env.TEST_TIMES;
const file = process.argv[1] ?? '';
if (times !== undefined && isMainThread && /\.test\.[jt]s$/.test(file))
  process.once('exit', () => {
    const { own, children } = processorTime();
    const line: FileTime = { file, wall: process.uptime(), processor: own + children };
    appendFileSync(times, `${JSON.stringify(line)}\n`);
  });
