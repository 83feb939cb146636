import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, matchesGlob, relative } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { newFolder, newScope, repository, run, type ServerProcess, serve } from '../support/cli-helpers.ts';
import { describeLong } from '../support/long.ts';
import { until } from '../support/until.ts';

const read = (...path: string[]): string => readFileSync(join(repository, ...path), 'utf8');

/** Extracts a package file of npm into a folder and returns the file names. */
function unpack(tgz: string, folder: string): string[] {
  const tar = gunzipSync(readFileSync(tgz));
  const names: string[] = [];
  for (let at = 0; tar[at] !== 0; ) {
    const field = (from: number, length: number) =>
      tar.toString('latin1', at + from, at + from + length).replace(/\0.*$/s, '');
    const name = field(0, 100).replace(/^package\//, '');
    const [mode, size] = [Number.parseInt(field(100, 8), 8), Number.parseInt(field(124, 12), 8)];
    assert.equal(field(156, 1), '0', `${name} is a plain file`);
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, tar.subarray(at + 512, at + 512 + size), { mode });
    names.push(name);
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return names;
}

/** Links the packages that an installation has, without development dependencies. */
function linkDependencies(modules: string): void {
  type Locked = { dev?: boolean; link?: boolean; optional?: boolean };
  const locked = Object.entries<Locked>(JSON.parse(read('package-lock.json')).packages);
  for (const [path, { dev, link }] of locked) {
    const [, name] = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
    if (name === undefined || dev || link) continue;
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(repository, path), join(modules, name));
  }
}

/** Copies into a folder what the first stage of the Dockerfile copies into the image. */
function copyBuildContext(folder: string): void {
  const [, stage = ''] = read('Dockerfile').split(/^FROM .*$/m);
  const ignored = read('.dockerignore').trim().split('\n');
  const filter = (path: string) => !ignored.some((pattern) => matchesGlob(relative(repository, path), pattern));
  for (const [, paths = ''] of stage.matchAll(/^COPY (.+)$/gm)) {
    const [target = '', ...sources] = paths.split(' ').reverse();
    for (const source of sources) {
      const to = target.endsWith('/') ? join(folder, target, basename(source)) : join(folder, target);
      cpSync(join(repository, source), to, { recursive: true, filter });
    }
  }
}

describe('what is published', () => {
  it('is the program, its build and the starter records, and the licence is that of the repository', () => {
    const { files, bin } = JSON.parse(read('server', 'package.json'));
    assert.deepEqual(files, ['bin', 'dist', 'starter']);
    assert.deepEqual(readdirSync(join(repository, 'server', 'bin')), [basename(bin.backscroll)]);
    const starter = ['conversations.ndjson', 'examples.json', 'record-examples.json', 'records.ndjson'];
    assert.deepEqual(readdirSync(join(repository, 'server', 'starter')).sort(), starter);
    assert.equal(read('server', 'LICENSE'), read('LICENSE'));
  });
});

describeLong('the package', () => {
  const scope = newScope();
  let folder: string;
  let files: string[];
  let packedBytes: number;
  let bin: string;
  before(async () => {
    folder = await newFolder(scope);
    // Packing also builds the package, of the files that the build of the image has.
    const context = await newFolder(scope);
    copyBuildContext(context);
    symlinkSync(join(repository, 'node_modules'), join(context, 'node_modules'));
    const args = ['pack', '--json', '--pack-destination', folder];
    const { stdout } = await promisify(execFile)('npm', args, { cwd: join(context, 'server') });
    const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('[')));
    packedBytes = statSync(join(folder, filename)).size;
    const modules = join(folder, 'node_modules');
    files = unpack(join(folder, filename), join(modules, 'backscroll'));
    linkDependencies(modules);
    bin = join(modules, 'backscroll', 'bin', 'backscroll.js');
    mkdirSync(join(modules, '.bin'));
    symlinkSync('../backscroll/bin/backscroll.js', join(modules, '.bin', 'backscroll'));
  });
  after(() => scope.end());

  it('contains the program, the starter records and examples, a licence and a README, and nothing else', () => {
    const allowed =
      /^(bin\/backscroll\.js|dist\/.+\.js|dist\/web\/(?:(?:console|docs)\/[\w-]+-[A-Z0-9]{8}\.(?:js|css|woff2)|guides\.json|pages\.json)|starter\/(?:(?:records|conversations)\.nd|(?:record-)?examples\.)json|package\.json|LICENSE|README\.md)$/;
    assert.deepEqual(
      files.filter((file) => !allowed.test(file)),
      [],
    );
    for (const file of ['bin/backscroll.js', 'dist/cli/main.js', 'starter/records.ndjson', 'LICENSE', 'README.md'])
      assert.ok(files.includes(file), file);
    assert.deepEqual(
      files.filter((file) => /\.test\.|\.map$|\.ts$/.test(file)),
      [],
    );
    assert.ok(packedBytes < 1_000_000, `${packedBytes} bytes packed`);
  });

  it('runs with npx and prints its version', async () => {
    const { version } = JSON.parse(read('server', 'package.json'));
    for (const option of ['--version', '-v']) {
      const { code, stdout, stderr } = await run([option], { cwd: folder, command: process.execPath, before: [bin] });
      assert.deepEqual([code, stdout, stderr], [0, `${version}\n`, '']);
    }
    const npx = await run(['backscroll', '--version'], { cwd: folder, command: 'npx', before: ['--offline'] });
    assert.deepEqual([npx.code, npx.stdout], [0, `${version}\n`], npx.stderr);
  });

  it('serves starter records, the three operations, the pages and the OpenAPI document', async () => {
    const cwd = await newFolder(scope);
    const serving = await serve(scope, { cwd, command: process.execPath, before: [bin], args: ['--starter'] });
    const { base } = serving;
    const [messages, chunk, models] = await printedRequests(serving);
    const page = await fetch(messages?.url ?? '', messages);
    assert.equal(((await page.json()) as { data: unknown[] }).data.length, 3);
    const edited = await fetch(chunk?.url ?? '', { ...chunk, method: 'PATCH' });
    assert.equal(((await edited.json()) as { data: { type: string } }).data.type, 'customized');
    const listed = await fetch(models?.url ?? '', models);
    assert.ok(((await listed.json()) as { data: unknown[] }).data.length > 0);

    assert.deepEqual(await (await fetch(`${base}/openapi.json`)).json(), JSON.parse(read('openapi.json')));
    const guide = await fetch(`${base}/docs/keys.md`);
    assert.equal(await guide.text(), read('docs', 'run', 'keys.md'));
    assert.match(await (await fetch(`${base}/llms.txt`)).text(), /^- \[Monitoring\]\(\/docs\/monitoring\.md\)$/m);
    for (const page of ['/docs', '/console']) {
      const response = await fetch(`${base}${page}`);
      assert.equal(response.status, 200, page);
      const parts = [...(await response.text()).matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path = '']) => path);
      assert.ok(parts.length > 0, page);
      for (const path of parts) assert.equal((await fetch(`${base}${path}`)).status, 200, path);
    }
    await serving.end('SIGTERM');
    assert.deepEqual(await serving.ended, { code: 0, signal: null });
  });
});

type PrintedRequest = { url: string; headers: Record<string, string>; body?: string };

/** The requests of the three curl commands that the first start prints, once all of them are printed. */
async function printedRequests(serving: ServerProcess): Promise<PrintedRequest[]> {
  const lines = () => serving.output().match(/^curl .+$(?=\n)/gm) ?? [];
  await until(() => lines().length >= 3, serving.output);
  return lines().map((line) => {
    const headers = [...line.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name = '', value = '']) => [name, value]);
    const body = /-d '([^']+)'/.exec(line)?.[1];
    const url = /'(http[^']+)'/.exec(line)?.[1] ?? '';
    return { url, headers: Object.fromEntries(headers), ...(body !== undefined && { body }) };
  });
}
