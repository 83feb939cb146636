import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { repository } from './support/cli-helpers.ts';

/** The counts of `ratchets.json`: a change may lower them, and raises one only with the reason in its commit. */

type File = { path: string; text: string };
type Ratchet = {
  name: string;
  /** How the count is lowered. */
  remedy: string;
  find: (files: readonly File[]) => string[];
};

const folders = ['server/src', 'web', 'client/src'];
const isGenerated = ({ text }: File): boolean => text.startsWith('// Generated ');

/** Lines of code, without those of comments and imports, by `path:line: text`. */
function codeLines(files: readonly File[], folder: string): { place: string; code: string }[] {
  return files
    .filter(({ path, text }) => path.startsWith(folder) && !isGenerated({ path, text }))
    .flatMap(({ path, text }) =>
      text.split('\n').map((line, at) => ({ place: `${path}:${at + 1}: ${line.trim()}`, code: line })),
    )
    .filter(({ code }) => !/^\s*(?:\*|\/[/*]|import\b|export \*|type \w+(?:,| as )|\w+ as \w+,$)/.test(code));
}

const casts = (folder: string): Ratchet => ({
  name: `casts in ${folder}/`,
  remedy: 'declare the type where the value comes from: a Statement<Row>, a union with a `kind`, a typed parameter',
  find: (files) =>
    codeLines(files, `server/src/${folder}/`)
      .filter(({ code }) => /\bas (?!const\b)/.test(code.replaceAll(/(['"`])(?:\\.|(?!\1).)*\1|\/\/ .*/g, '')))
      .map(({ place }) => place),
});

const functions = (max: number): Ratchet => ({
  name: `functions over ${max} lines`,
  remedy: 'give a part of it a name of its own: one route, one step, one case',
  find: () =>
    longFunctions()
      .filter(({ lines }) => lines > max)
      .map(({ place, lines }) => `${place}: ${lines} lines`),
});

export const ratchets: readonly Ratchet[] = [
  functions(40),
  functions(70),
  {
    name: 'files over 240 lines',
    remedy: 'move one subject of it to a file of its own, or delete something',
    find: (files) =>
      files
        .filter((file) => !isGenerated(file) && file.text.trimEnd().split('\n').length > 240)
        .map(({ path }) => path),
  },
  casts('store'),
  casts('http'),
  {
    name: 'limits that one file knows',
    remedy: 'move the number to the head of that file, unless a client can see it',
    find: (files) => {
      const limits = files.find(({ path }) => path.endsWith('contract/limits.ts'))?.text ?? '';
      const others = files.filter(({ path }) => !path.endsWith('contract/limits.ts'));
      return [...limits.matchAll(/^ {2}(\w+):/gm)]
        .map(([, name = '']) => name)
        .filter((name) => others.filter(({ text }) => new RegExp(`\\b${name}\\b`).test(text)).length < 2);
    },
  },
  {
    name: 'large numbers inside functions',
    remedy: 'give the number a name and a unit at the head of the file',
    find: (files) =>
      codeLines(files, 'server/src/')
        .filter(({ place }) => !/^server\/src\/(?:contract\/limits|config)\.ts/.test(place))
        .filter(({ code }) => {
          const words = code.replaceAll(/(['"`])(?:\\.|(?!\1).)*\1|\/\/ .*/g, '');
          return /^\s/.test(words) && /(?<![\w.#])(?!1_?000\b)(?:\d{1,3}(?:_\d{3})+|\d{4,})\b/.test(words);
        })
        .map(({ place }) => place),
  },
  {
    name: 'imports of store/, http/ and dify/ by tests',
    remedy: 'test it over HTTP, the command line or the client, or with a helper of server/test/support',
    find: findInternalImports,
  },
];

/** The tests whose imports are not counted, each with the reason: what it proves can be seen at no front door, or not in a test's time. */
const moduleTests: Record<string, string> = {
  'admin/failures.test.ts': 'keys and hours by the hundred, in a table of fixed size',
  'admin/traffic.test.ts': 'hours of traffic, by a clock that the test moves',
  'citus/migrate.citus.ts':
    'every table, and how the rows of each are spread, for a migration that is killed after any of them',
  'dify/keys.test.ts': 'rows of the source that change between two statements of one run',
  'dify/mapping/order.test.ts': 'rows in orders that a source may return, and this one does not',
  'dify/mapping/properties.test.ts': 'property test: any row maps to a valid record or is skipped',
  'dify/mapping/values.test.ts': 'property test of single values',
  'dify/runs.ts': 'runs an import with its own clock, signal and report, as the command line and the service do',
  'http/gate.test.ts': 'a queue, by a clock that the test moves',
  'http/observe.test.ts': 'outages that last for hours',
  'http/server.test.ts': 'connections that the kernel gives to a chosen worker',
  'http/shared-state.test.ts': 'threads that race for shared memory',
  'http/slow-readers.test.ts': 'readers that are slow for minutes',
  'mcp/isolation.test.ts': 'every tool has a row, with the kinds of key that its definition names',
  'plans/shard-marks.ts': 'which tables are distributed, and by which column',
  'postgres/hosts.test.ts': 'errors of nodes and servers that no server here returns',
  'postgres/import-plans.test.ts': 'plans of the statements of an import, on a table without statistics',
  'properties/search-words.test.ts': 'property test of words and their order',
  'store/postgres-instances.test.ts': 'the steps of a migration, which the test makes as another process does',
  'store/sharding.test.ts':
    'how the rows of each table are spread over nodes, compared with the catalog and the statements',
  'store/large-responses.test.ts': 'a wait for a slot, by simulated timers',
  'support/dify-database.ts': 'reads the source by the connection of an import',
  'support/harness.ts': 'starts the service in the process of the tests',
  'support/workers/state.ts': 'the memory that workers share, for the tests above',
  'upstream/answers.test.ts': 'property test: an answer in any pieces',
  'upstream/owned.test.ts': 'the table of who responds, with every case',
};

/** Imports by tests of what no client, command or page can see. */
function findInternalImports(): string[] {
  const tests = ['server/test/**/*.ts', 'client/test/**/*.ts'].flatMap((pattern) =>
    globSync(pattern, { cwd: repository }),
  );
  const counted = tests.filter((path) => !(path.replaceAll('\\', '/').replace('server/test/', '') in moduleTests));
  return counted.flatMap((path) => {
    const imports = readFileSync(join(repository, path), 'utf8').matchAll(
      / from '[./]*\/src\/((?:store|http|dify)\/[^']*)'/g,
    );
    return [...imports].map(([, module]) => `${path} -> ${module}`);
  });
}

let longFunctions: () => { place: string; lines: number }[] = () => {
  const found = findLongFunctions();
  longFunctions = () => found;
  return found;
};

/** Functions with more than 40 lines, by a rule of the linter. Comments count, empty lines do not. */
function findLongFunctions(): { place: string; lines: number }[] {
  const config = mkdtempSync(join(tmpdir(), 'backscroll-ratchets-'));
  const options = { maxLines: 40, skipBlankLines: true };
  const linter = {
    rules: { recommended: false, complexity: { noExcessiveLinesPerFunction: { level: 'warn', options } } },
  };
  try {
    writeFileSync(join(config, 'biome.json'), JSON.stringify({ linter, formatter: { enabled: false } }));
    const flags = [`--config-path=${config}`, '--reporter=json', '--max-diagnostics=none'];
    const paths = folders.map((folder) => join(repository, folder));
    const output = execFileSync(process.execPath, [biome, 'lint', ...flags, ...paths], {
      cwd: repository,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 2 ** 26,
    });
    const { diagnostics }: { diagnostics: Diagnostic[] } = JSON.parse(output);
    return diagnostics
      .filter(({ category }) => category === 'lint/complexity/noExcessiveLinesPerFunction')
      .map(({ message, location: { path, start } }) => ({
        place: `${relative(repository, join(repository, path)).replaceAll('\\', '/')}:${start.line}`,
        lines: Number(/\((\d+)\)/.exec(message)?.[1]),
      }));
  } finally {
    rmSync(config, { recursive: true });
  }
}

type Diagnostic = { category: string; message: string; location: { path: string; start: { line: number } } };
const biome = join(repository, 'node_modules', '@biomejs', 'biome', 'bin', 'biome');

const countsPath = join(repository, 'server', 'test', 'ratchets.json');
export const allowedCounts = (): Record<string, number> => JSON.parse(readFileSync(countsPath, 'utf8'));
