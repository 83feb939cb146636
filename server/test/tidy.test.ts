import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { describe, it } from 'node:test';
import { allowedCounts, ratchets } from './ratchets.ts';
import { repository } from './support/cli-helpers.ts';

const source = join(repository, 'server', 'src');
const read = (path: string): string => readFileSync(path, 'utf8');

function walk(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (['node_modules', '.git', 'data', 'dist'].includes(entry.name)) return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? walk(path) : [path];
  });
}

/** Files of the repository, including untracked ones; relative to it. */
function listFiles(): string[] {
  try {
    const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
    const output = execFileSync('git', args, {
      cwd: repository,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return output.split('\0').filter((path) => path !== '' && existsSync(join(repository, path)));
  } catch {
    return walk(repository).map((path) => relative(repository, path));
  }
}

type Modules = ReadonlyMap<string, { text: string; files: string[]; packages: string[] }>;

/** Source files by their path under a folder, each with the relative paths and the packages it imports. */
function modulesIn(folder: string): Modules {
  const paths = walk(folder).map((path) => relative(folder, path).replaceAll('\\', '/'));
  return new Map(
    paths
      .filter((path) => /\.tsx?$/.test(path))
      .map((path) => {
        const text = read(join(folder, path));
        const imports = text.matchAll(/^\s*(?:import|export)\b[^'";]*?from '([^']+)'|(?<!')\bimport\(?\s*'([^']+)'/gm);
        // The pattern may also match inside a string.
        const specifiers = [...imports]
          .map(([, from, bare]) => from ?? bare ?? '')
          .filter((specifier) => /^[\w@./:-]+$/.test(specifier));
        const isFile = (specifier: string) => specifier.startsWith('.');
        const files = specifiers.filter(isFile).map((specifier) => posix.join(posix.dirname(path), specifier));
        return [path, { text, files, packages: specifiers.filter((specifier) => !isFile(specifier)) }] as const;
      }),
  );
}

/** The edges of one cycle. */
function findCycle(graph: ReadonlyMap<string, { files: readonly string[] }>): string[] {
  const done = new Set<string>();
  const visit = (path: string, trail: string[]): string[] => {
    if (trail.includes(path)) {
      const cycle = [...trail.slice(trail.indexOf(path)), path];
      return cycle.slice(1).map((to, at) => `${cycle[at]} -> ${to}`);
    }
    if (done.has(path)) return [];
    done.add(path);
    for (const file of graph.get(path)?.files ?? []) {
      const cycle = visit(file, [...trail, path]);
      if (cycle.length > 0) return cycle;
    }
    return [];
  };
  for (const path of graph.keys()) {
    const cycle = visit(path, []);
    if (cycle.length > 0) return cycle;
  }
  return [];
}

const requireNoCycle = (modules: Modules): void => assert.deepEqual(findCycle(modules), []);

/** A file directly in the folder of a layer by itself; a deeper file as its folder, without the folders inside it. */
const roomOf = (path: string): string => (path.split('/').length < 3 ? path : posix.dirname(path));

/** Files that no root imports, directly or indirectly. */
function unreachable(modules: Modules, roots: readonly string[]): string[] {
  const reached = new Set<string>();
  const visit = (path: string): void => {
    if (reached.has(path)) return;
    reached.add(path);
    modules.get(path)?.files.forEach(visit);
  };
  roots.forEach(visit);
  return [...modules.keys()].filter((path) => !reached.has(path));
}

const longFiles = (modules: Modules): string[] =>
  [...modules].filter(([, { text }]) => text.trimEnd().split('\n').length > 300).map(([path]) => path);

const modules = modulesIn(source);
const filesOf = (path: string): string[] => modules.get(path)?.files ?? [];
const layerOf = (path: string): string => (path.includes('/') ? (path.split('/')[0] ?? '') : path.replace('.ts', ''));

/** Imports allowed in each layer: layers below it, never layers beside it. */
const allowedImports: Record<string, readonly string[]> = {
  cli: ['cli', 'backup', 'service', 'store', 'http', 'dify', 'config', 'domain', 'contract'],
  service: ['service', 'backup', 'store', 'http', 'dify', 'config', 'oidc-settings', 'domain', 'contract'],
  backup: ['backup', 'config', 'setting-kinds', 'domain', 'contract'],
  dify: ['dify', 'database-url', 'domain', 'contract'],
  store: ['store', 'database-url', 'domain', 'contract'],
  http: ['http', 'domain', 'contract'],
  config: ['oidc-settings', 'setting-kinds', 'database-url', 'domain', 'contract'],
  'oidc-settings': ['setting-kinds', 'domain', 'contract'],
  'setting-kinds': ['database-url'],
  'database-url': [],
  domain: ['domain', 'contract'],
  contract: ['contract'],
};

describe('the source', () => {
  it('is not empty', () => {
    assert.ok(modules.size > 30);
    assert.ok(filesOf('cli/main.ts').includes('config.ts'));
  });

  it('has known layers, and imports only go down', () => {
    const wrong = [...modules].flatMap(([path, { files }]) =>
      files
        .filter((file) => !allowedImports[layerOf(path)]?.includes(layerOf(file)))
        .map((file) => `${path} -> ${file}`),
    );
    assert.deepEqual(wrong, []);
    assert.deepEqual(
      [...modules.keys()].filter((path) => !(layerOf(path) in allowedImports)),
      [],
    );
  });

  it('has folders that never import each other', () => {
    const separate = [
      ['store/sqlite/', 'store/postgres/'],
      ['store/postgres/', 'store/sqlite/'],
    ] as const;
    for (const folder of separate.flat())
      assert.ok(
        [...modules.keys()].some((path) => path.startsWith(folder)),
        folder,
      );
    const wrong = separate.flatMap(([from, to]) =>
      [...modules]
        .filter(([path]) => path.startsWith(from))
        .flatMap(([path, { files }]) =>
          files.filter((file) => file.startsWith(to)).map((file) => `${path} -> ${file}`),
        ),
    );
    assert.deepEqual(wrong, []);
  });

  it('has no folder with more than 20 files', () => {
    const roots = [join('server', 'src'), join('server', 'test'), 'web', 'bench', 'client', 'experiments'];
    const folders = roots.flatMap((root) => walk(join(repository, root)).map(dirname));
    const large = [...Map.groupBy(folders, (folder) => relative(repository, folder))]
      .filter(([, files]) => files.length > 20)
      .map(([folder, files]) => `${folder}: ${files.length}`);
    assert.ok(folders.length > 100);
    assert.deepEqual(large, []);
  });

  it('imports only files that exist', () => {
    const missing = [...modules].flatMap(([path, { files }]) =>
      files.filter((file) => !modules.has(file) && !existsSync(join(source, file))).map((file) => `${path} -> ${file}`),
    );
    assert.deepEqual(missing, []);
  });

  it('has a domain without databases, HTTP and other packages', () => {
    const wrong = [...modules].flatMap(([path, { packages }]) =>
      layerOf(path) === 'domain' || layerOf(path) === 'contract'
        ? packages
            .filter((one) => !(one.startsWith('node:') || one.startsWith('typebox')))
            .map((one) => `${path} ${one}`)
        : [],
    );
    assert.deepEqual(wrong, []);
    const io = /^node:(http|https|net|sqlite|worker_threads|child_process)$/;
    const outside = [...modules].filter(
      ([path, { packages }]) => layerOf(path) === 'domain' && packages.some((one) => io.test(one)),
    );
    assert.deepEqual(
      outside.map(([path]) => path),
      [],
    );
  });

  it('has no import cycle', () => requireNoCycle(modules));

  it('has no folders of a layer that import each other, directly or around', () => {
    const rooms = new Map<string, { files: string[] }>();
    const imports = new Map<string, string>();
    for (const [path, { files }] of modules)
      for (const file of files) {
        const [from, to] = [roomOf(path), roomOf(file)];
        rooms.set(from, rooms.get(from) ?? { files: [] });
        if (from === to || layerOf(path) !== layerOf(file)) continue;
        rooms.get(from)?.files.push(to);
        imports.set(`${from} -> ${to}`, `${path} -> ${file}`);
      }
    assert.ok(rooms.size > 80);
    assert.deepEqual(
      findCycle(rooms).map((edge) => imports.get(edge)),
      [],
    );
  });

  it('has no unused file', () => {
    // Threads are started by file name.
    const threads = [
      ...['writer-thread.ts', 'backup-thread.ts', 'background-thread.ts'].map((name) => `store/sqlite/${name}`),
      ...['validation', 'worker', 'follow'].map((name) => `service/${name}-thread.ts`),
    ];
    assert.deepEqual(unreachable(modules, ['cli/main.ts', ...threads]), []);
  });

  it('has no file over 300 lines', () => assert.deepEqual(longFiles(modules), []));

  it('decides nothing by the text of a message', () => {
    const decides =
      /\.message\)?\s*(?:===|!==)|\bmessage\b\)?\.(?:match|replace|startsWith|endsWith|includes|search)\(|\.(?:test|exec)\([^;\n]*\bmessage(?:Of)?\b/;
    // The driver of PostgreSQL, and Citus, have no codes for these.
    const others = ['dify/connection.ts', 'store/postgres/pool/errors.ts', 'store/postgres/pool/hosts.ts'];
    const found = [...modules].filter(([path, { text }]) => !others.includes(path) && decides.test(text));
    assert.deepEqual(
      found.map(([path]) => path),
      [],
    );
    for (const path of others) assert.match(modules.get(path)?.text ?? '', decides);
  });

  it('gets the clock and random numbers from its caller', () => {
    const folders = ['domain/', 'store/changes/'];
    const checked = [...modules].filter(([path]) => folders.some((folder) => path.startsWith(folder)));
    assert.ok(checked.length > 40);
    const reads = checked.filter(([, { text }]) => /\bDate\.now\b|\bMath\.random\b|\bnew Date\(\)/.test(text));
    assert.deepEqual(
      reads.map(([path]) => path),
      [],
    );
  });

  it('reads the environment in one place', () => {
    const readers = [...modules].filter(([, { text }]) => /process\.env\b/.test(text)).map(([path]) => path);
    assert.deepEqual(readers, ['cli/main.ts']);
  });

  it('never imports node:http or node:https, which would evaluate the client of fetch at every start', () => {
    const imports = /^import (?!type\b)[^;]*'node:https?'/m;
    assert.match("import { request } from 'node:http';", imports);
    const importing = [...modules].filter(([, { text }]) => imports.test(text));
    assert.deepEqual(
      importing.map(([path]) => path),
      [],
    );
  });
});

describe('the pages', () => {
  const web = join(repository, 'web');
  const pages = modulesIn(web);
  const types = 'console/state/types.ts';
  const builder = ['build.ts', 'html.ts'];
  const roots = ['console/main.tsx', 'docs/main.tsx'];
  const folders = ['console', 'docs', 'shared'];

  it('are not empty', () => {
    assert.ok(pages.size > 10);
    assert.deepEqual([...new Set([...pages.keys()].map(layerOf))].sort(), ['build', 'html', ...folders].sort());
  });

  it('import only from their own folder, from shared/, and rules and types of the service', () => {
    const isRule = (file: string) => /^\.\.\/server\/src\/(?:contract|domain)\//.test(file);
    const checked = [...pages].filter(([path]) => !builder.includes(path) && path !== types);
    const wrong = checked.flatMap(([path, { files }]) =>
      files
        .filter((file) => !isRule(file) && ![layerOf(path), 'shared'].includes(layerOf(file)))
        .map((file) => `${path} -> ${file}`),
    );
    assert.deepEqual(wrong, []);
    // Rules that import nothing bring nothing else into the page.
    const rules = new Set(checked.flatMap(([, { files }]) => files.filter(isRule)));
    assert.ok(rules.size > 0);
    for (const file of rules) {
      const { files, packages } = modules.get(file.replace('../server/src/', '')) ?? {};
      assert.deepEqual([files, packages], [[], []], file);
    }
    const { files = [], text = '' } = pages.get(types) ?? {};
    assert.ok(files.length > 5 && files.every(isRule));
    assert.doesNotMatch(text, /^(?:import|export) (?!type\b)/m);
  });

  it('import no package except Preact and marked', () => {
    const packages = [...pages].flatMap(([path, one]) => (builder.includes(path) ? [] : one.packages));
    assert.deepEqual([...new Set(packages)].sort(), ['marked', 'preact', 'preact/hooks']);
  });

  it('have no import cycle', () => requireNoCycle(pages));

  it('have no unused file', () => assert.deepEqual(unreachable(pages, [...builder, ...roots]), []));

  it('have no file over 300 lines', () => assert.deepEqual(longFiles(pages), []));
});

const textFiles = listFiles()
  .filter((path) => statSync(join(repository, path)).isFile())
  .map((path) => ({ path: path.replaceAll('\\', '/'), bytes: readFileSync(join(repository, path)) }))
  .filter(({ bytes }) => !bytes.includes(0))
  .map(({ path, bytes }) => ({ path, text: bytes.toString() }));

/** `path: matched text` of every match in the chosen files. Patterns are written so that they do not match this file. */
function matches(pattern: RegExp, isChosen: (path: string) => boolean = () => true): string[] {
  return textFiles
    .filter(({ path }) => isChosen(path))
    .flatMap(({ path, text }) => [...text.matchAll(new RegExp(pattern, 'g'))].map(([match]) => `${path}: ${match}`));
}

describe('the repository', () => {
  it('is not empty', () => {
    for (const path of ['package.json', 'package-lock.json', 'server/package.json', 'server/test/tidy.test.ts'])
      assert.ok(
        textFiles.some((file) => file.path === path),
        path,
      );
  });

  it('has a tree of its folders that is indented by two spaces a level', () => {
    const page = textFiles.find(({ path }) => path === 'docs/understand/architecture.md')?.text ?? '';
    const tree = /```\n(server\/[\s\S]*?)\n```/.exec(page)?.[1]?.split('\n') ?? [];
    // Lines that continue a description begin further to the right.
    const indents = tree.map((line) => line.search(/\S/)).filter((indent) => indent >= 0 && indent < 20);
    assert.ok(indents.length > 50);
    const wrong = indents.filter((indent, at) => indent % 2 !== 0 || indent > (indents[at - 1] ?? 0) + 2);
    assert.deepEqual(wrong, []);
  });

  it('has no comment that postpones work', () => {
    assert.deepEqual(
      matches(/\b(?:TO[D]O|FIX[M]E|X[X]X|HA[C]K)\b/, (path) => /\.(tsx?|js|md|yml|yaml)$/.test(path)),
      [],
    );
  });

  it('skips no test', () => {
    const isTest = (path: string) => path.includes('test/') || /\.test\.\w+$/.test(path);
    assert.deepEqual(matches(/\b(?:it|test|describe|suite|t|context)\.(?:ski[p]|onl[y]|tod[o])\b/, isTest), []);
    assert.deepEqual(matches(/\b(?:ski[p]|onl[y]|tod[o]):(?! string| boolean| \{ type)/, isTest), []);
  });

  it('has a lock file without registry addresses', () => {
    const lock = JSON.parse(read(join(repository, 'package-lock.json')));
    const resolved = Object.values(lock.packages as Record<string, { resolved?: string; integrity?: string }>);
    assert.ok(resolved.length > 50);
    assert.deepEqual(
      resolved.filter((one) => /^\w+:/.test(one.resolved ?? '')).map((one) => one.resolved),
      [],
    );
    assert.deepEqual(
      matches(/"resolved": "https?:[^"]*"/, (path) => path === 'package-lock.json'),
      [],
    );
  });

  it('contains no local path and no registry address', () => {
    assert.deepEqual(matches(/(?<![\w.~}-])\/(?:hom[e]|roo[t]|User[s]|wor[k]|mn[t])\/[\w.-]+/), []);
    assert.deepEqual(matches(/\b[A-Z]:\\{1,2}Users\b/), []);
    assert.deepEqual(
      matches(/\b(?:registr[y]\.[\w-]+\.\w+|[\w.-]+\/npm-registr[y]|artifactor[y]|nexu[s]\.[\w-]+)/),
      [],
    );
  });

  it('pins every dependency exactly', () => {
    const manifests = textFiles.filter(({ path }) => /(^|\/)package\.json$/.test(path));
    assert.ok(manifests.length >= 2);
    const unpinned = manifests.flatMap(({ path, text }) => {
      const { dependencies, devDependencies, optionalDependencies } = JSON.parse(text);
      return Object.entries<string>({ ...dependencies, ...devDependencies, ...optionalDependencies })
        .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
        .map(([name, version]) => `${dirname(path)}: ${name}@${version}`);
    });
    assert.deepEqual(unpinned, []);
  });

  it('documents the reason for every dependency and the number of installed packages', () => {
    const page = read(join(repository, 'docs', 'decisions', '0019-dependencies.md'));
    const paths = ['package.json', 'server/package.json', 'client/package.json'];
    const manifests = paths.map((path) => JSON.parse(read(join(repository, path))));
    const dependencyNames = manifests.flatMap(({ dependencies, devDependencies }) =>
      Object.keys({ ...dependencies, ...devDependencies }),
    );
    assert.deepEqual(
      dependencyNames.filter(
        (name) => !page.split('\n').some((line) => line.startsWith('|') && line.includes(`\`${name}\``)),
      ),
      [],
    );
    const locked = Object.entries<{ dev?: boolean; link?: boolean; hasInstallScript?: boolean }>(
      JSON.parse(read(join(repository, 'package-lock.json'))).packages,
    ).filter(([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link);
    assert.match(page, new RegExp(`\\b${locked.length} packages\\b`), `${locked.length} packages are installed`);
    const counts = matches(/\b\d+ packages\b/, (path) => path.endsWith('.md') && !path.includes('-dependencies.md'));
    assert.deepEqual(counts, [], 'the number of packages is stated once');
    assert.deepEqual(
      locked.filter(([, { hasInstallScript }]) => hasInstallScript),
      [],
    );
  });
});

describe('the counts of ratchets.json may only fall', () => {
  const files = textFiles.filter(({ path }) => /^(?:server\/src|web|client\/src)\/.*\.tsx?$/.test(path));
  const allowed = allowedCounts();

  it('are the known ones', () => {
    assert.ok(files.length > 400);
    assert.deepEqual(
      Object.keys(allowed),
      ratchets.map(({ name }) => name),
    );
  });

  for (const { name, remedy, find } of ratchets)
    it(name, () => {
      const found = find(files);
      const max = allowed[name] ?? 0;
      const list = found.join('\n  ');
      assert.ok(found.length <= max, `${found.length} ${name}, at most ${max}. To lower it, ${remedy}:\n  ${list}`);
    });
});

describe('the documentation', () => {
  const pages = textFiles.filter(({ path }) => path.endsWith('.md'));
  const exists = (path: string): boolean => existsSync(join(repository, path));
  /** The anchors that GitHub gives to the headings of a page. */
  const anchorsOf = (text: string): string[] =>
    [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    );

  it('has only relative links that resolve, anchors included', () => {
    const links = pages.flatMap(({ path, text }) =>
      [...text.matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(([, file = '', anchor]) => ({
        from: path,
        target: file === '' ? path : posix.join(posix.dirname(path), file),
        anchor,
      })),
    );
    assert.ok(links.length > 30);
    const broken = links.filter(({ target, anchor }) => {
      if (!exists(target)) return true;
      return anchor !== undefined && !anchorsOf(read(join(repository, target))).includes(anchor);
    });
    assert.deepEqual(broken, []);
  });

  it('lists every page in its index', () => {
    const index = read(join(repository, 'docs', 'README.md'));
    const listed = pages.map(({ path }) => path).filter((path) => /^docs\/(?!decisions\/)\w+\//.test(path));
    assert.ok(listed.length > 10);
    assert.deepEqual(
      listed.filter((path) => !index.includes(`](${path.slice('docs/'.length)})`)),
      [],
    );
  });

  it('names only files that exist', () => {
    const roots = ['', 'server', 'server/src'];
    const missing = pages.flatMap(({ path, text }) =>
      [...text.matchAll(/`((?:[\w.-]+\/)+(?:[\w-]+\.(?:ts|js|md|json|sql))?)`/g)]
        .map(([, name = '']) => name)
        .filter((name) => !roots.some((root) => exists(posix.join(root, name))))
        .map((name) => `${path}: ${name}`),
    );
    assert.deepEqual(missing, []);
  });

  it('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(read(join(repository, 'package.json')));
    const missing = matches(/\bnpm run [\w:]+/, (path) => path.endsWith('.md')).filter(
      (match) => !((match.split(' ').at(-1) ?? '') in scripts),
    );
    assert.deepEqual(missing, []);
  });

  it('numbers each decision once, and the numbers that are cited exist', () => {
    const folder = join(repository, 'docs', 'decisions');
    const numbers = readdirSync(folder)
      .filter((name) => name !== 'README.md')
      .map((name) => name.slice(0, 4));
    assert.deepEqual(numbers, [...new Set(numbers)]);
    const index = read(join(folder, 'README.md'));
    assert.deepEqual(
      numbers.filter((number) => !index.includes(`| [${number}](`)),
      [],
    );
    const cited = matches(/\b[Dd]ecision \d{4}\b/);
    assert.deepEqual(
      cited.filter((match) => !numbers.includes(match.slice(-4))),
      [],
    );
  });

  it('has one version: the newest of the changelog, or the one that will be the first', () => {
    const [newest, ...others] = [...read(join(repository, 'CHANGELOG.md')).matchAll(/^## (.+)$/gm)].map(
      ([, name]) => name,
    );
    const [server, client] = ['server', 'client'].map(
      (name) => JSON.parse(read(join(repository, name, 'package.json'))).version,
    );
    assert.equal(server, client);
    assert.equal(newest === 'Unreleased' ? (others[0] ?? server) : newest, server);
    assert.ok(read(join(repository, 'docs/use/first-steps.md')).includes(`/backscroll-${server}.tgz`));
  });
});
