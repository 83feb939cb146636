import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { processorSeconds } from './processes.ts';
import type { FileTime } from './test-group.ts';

/**
 * Runs the tests of the server, of the client and of the experiments: all of them, with lint and types, or those in the files and folders
 * given, by a path from here or from one of the folders below. Ends with the slowest files. Without TEST_LONG it fails if
 * a file takes more processor time than its budget.
 */

const repository = fileURLToPath(new URL('../..', import.meta.url));
const folders = [repository, join(repository, 'server'), join(repository, 'client')];
const pattern = '**/*.test.ts';
const isLong = Boolean(process.env.TEST_LONG);

/** Tests wait for other processes now and then, so one more at a time than a small machine has cores. */
const concurrency = 3;
/** For a test that hangs: far more than a group of files needs on a busy machine. */
const groupMillisMax = isLong ? 3_600_000 : 1_200_000;
const slowestShown = 10;
/** At most so many files of one folder run in one process. Few long files in a row. */
const groupSizeMax = isLong ? 3 : 10;
/** At most so many files of several folders do: a process takes more than a second to load and compile the program. */
const joinedSizeMax = isLong ? 3 : 17;

/** Seconds of processor time per file: a few times what the slowest takes alone, because it takes more beside other work. */
const budget = 40;

/** Folders of files that take long. They start first, in this order, so that no long group runs alone at the end. */
const longFolders = isLong
  ? ['properties', 'dify', 'http', 'store', 'erasure', 'cli', 'feed', 'search', 'console', 'upstream']
  : ['console', 'upstream', 'cli', 'dify', 'properties', 'erasure', 'search', 'feed', 'store', 'http'];

const nameOf = (file: string): string => relative(repository, file);

function filesAt(path: string): string[] {
  for (const base of [process.cwd(), ...folders]) {
    const found = statSync(resolve(base, path), { throwIfNoEntry: false });
    if (found?.isDirectory()) return globSync(join(resolve(base, path), pattern)).sort();
    if (found) return [resolve(base, path)];
  }
  console.error(`there is no ${path}`);
  process.exit(1);
}

/** The files of a folder are together, in groups, in the order in which they start. Small groups are joined. */
function groupsOf(files: string[]): string[][] {
  const byFolder = Map.groupBy(files, (file) => dirname(file));
  const groups = [...byFolder.values()].flatMap((some) => {
    const count = Math.ceil(some.length / groupSizeMax);
    const size = Math.ceil(some.length / count);
    return Array.from({ length: count }, (_, at) => some.slice(at * size, (at + 1) * size));
  });
  const rankOf = ([file = '']: string[]): number => {
    const rank = longFolders.indexOf(basename(dirname(file)));
    return rank === -1 ? longFolders.length : rank;
  };
  const joined: string[][] = [];
  for (const group of groups.sort((a, b) => rankOf(a) - rankOf(b))) {
    const last = joined.at(-1);
    if (last !== undefined && last.length + group.length <= joinedSizeMax) last.push(...group);
    else joined.push(group);
  }
  return joined;
}

/** Writes the module that runs a group. */
function writeGroup(files: string[], at: number): string {
  const module = join(folder, `group-${at}.test.mjs`);
  const entries = files.map((file) => ({ name: nameOf(file), url: pathToFileURL(file).href }));
  const group = new URL('./test-group.ts', import.meta.url).href;
  writeFileSync(module, `import { runGroup } from ${JSON.stringify(group)};\nrunGroup(${JSON.stringify(entries)});\n`);
  return module;
}

/** Runs the files, and prints how many tests ran on each engine, which `onEveryEngine` puts in brackets into suite names. */
async function runFiles(files: string[]): Promise<void> {
  const options = {
    files: groupsOf(files).map(writeGroup),
    cwd: join(repository, 'server'),
    concurrency,
    timeout: groupMillisMax,
    globalSetupPath: fileURLToPath(new URL('../test/support/global-setup.ts', import.meta.url)),
  };
  const tests = run(options);
  let suite = '';
  const counts = new Map<string, number>();
  const count = ({ details }: { details: { type?: string | undefined } }) => {
    if (details.type === 'suite') return;
    const engine = /\[(\w+)\]/.exec(suite)?.[1] ?? 'no particular engine';
    counts.set(engine, (counts.get(engine) ?? 0) + 1);
  };
  // These events come in the order of declaration, one suite of a file after another.
  tests.on('test:start', ({ name, nesting }) => {
    if (nesting <= 1) suite = name;
  });
  tests.on('test:pass', count);
  tests.on('test:fail', (data) => {
    count(data);
    process.exitCode = 1;
  });
  for await (const text of tests.compose(spec)) process.stdout.write(text);
  console.log(`\ntests per engine: ${[...counts].map(([engine, number]) => `${number} on ${engine}`).join(', ')}`);
}

async function runCheck(): Promise<void> {
  const check = spawn('npm', ['run', 'check'], {
    cwd: repository,
    // The compiler takes a third less processor time without collecting garbage, and 0.85 GB of memory.
    env: { GOGC: 'off', ...process.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [check.stdout, check.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  const [code] = await once(check, 'close');
  if (code === 0) return;
  console.log(output);
  process.exitCode = 1;
  process.on('exit', () => console.error('npm run check failed: its output is above'));
}

function printSlowest(times: FileTime[]): void {
  const slowest = times.sort((a, b) => b.processor - a.processor).slice(0, slowestShown);
  console.log('\nslowest files: processor time with child processes, and time passed');
  for (const { name, wall, processor } of slowest)
    console.log(`${processor.toFixed(1).padStart(7)} s ${wall.toFixed(1).padStart(7)} s  ${name}`);
}

function checkBudgets(times: FileTime[]): void {
  for (const { name, processor } of times) {
    if (processor <= budget) continue;
    console.error(`${name} takes ${processor.toFixed(1)} s of processor time; its budget is ${budget} s`);
    process.exitCode = 1;
  }
}

const paths = process.argv.slice(2);
const files =
  paths.length === 0 ? ['server/test', 'client/test', 'experiments'].flatMap(filesAt) : paths.flatMap(filesAt);
const folder = mkdtempSync(join(tmpdir(), 'backscroll-test-run-'));
const timesFile = join(folder, 'times');
writeFileSync(timesFile, '');
process.env.TEST_TIMES = timesFile;
process.on('exit', () => {
  const lines = readFileSync(timesFile, 'utf8').trimEnd().split('\n');
  const times = lines.filter((line) => line !== '').map((line): FileTime => JSON.parse(line));
  rmSync(folder, { recursive: true });
  printSlowest(times);
  console.log(`processor time in all, with PostgreSQL and the browser: ${Math.round(processorSeconds())} s`);
  if (!isLong) checkBudgets(times);
});
// Beside the first tests: lint uses one core.
const check = paths.length === 0 ? runCheck() : Promise.resolve();
await runFiles(files);
await check;
