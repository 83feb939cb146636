import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { loadStarter } from '../../server/src/cli/starter.ts';
import { type Service, startService } from '../../server/test/support/harness.ts';
import { firstOrAll, isLong, itLong } from '../../server/test/support/long.ts';
import { Backscroll } from '../src/index.ts';

const run = promisify(execFile);
const here = fileURLToPath(new URL('..', import.meta.url));
const repository = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(join(here, 'README.md'), 'utf8');

/** The compiler must reject each of the lines. */
const misuse = `
import { Backscroll, NotFound } from 'backscroll-client';
// @ts-expect-error
const backscroll = new Backscroll({ baseUrl: 'http://127.0.0.1/v1' });
// @ts-expect-error
await backscroll.listModels('video');
// @ts-expect-error
for await (const message of backscroll.history({})) message.query.length;
// @ts-expect-error
for await (const conversation of backscroll.conversations({ sort_by: 'name' })) conversation.name;
// @ts-expect-error
await backscroll.createChildChunk({ dataset_id: 'd', document_id: 'o', segment_id: 's', content: 'c' }, { retries: 1 });
// @ts-expect-error
for await (const message of backscroll.history({ conversation_id: 'c' })) message.question;
export const status = (error: NotFound): string =>
  // @ts-expect-error
  error.status;
`;

/** The pinned Node.js, and the machine's own where it is new enough. */
function runtimes(): string[] {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  const own = folders.map((folder) => join(folder, 'node')).find((file) => existsSync(file));
  const versionOf = (node: string) =>
    Number(/^v(\d+)/.exec(execFileSync(node, ['--version'], { encoding: 'utf8' }))?.[1]);
  return [process.execPath, ...(own !== undefined && versionOf(own) >= 20 ? [own] : [])];
}

/** Installs the package as npm publishes it. Returns the names of its files. */
async function installPackage(folder: string): Promise<string[]> {
  const packed = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: here });
  const [{ filename, files }] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf('[')));
  const quiet = ['--offline', '--no-audit', '--no-fund', '--no-package-lock'];
  await run('npm', ['install', ...quiet, join(folder, filename)], { cwd: folder });
  return files.map(({ path }: { path: string }) => path);
}

/** Makes the source the package: packing, building and installing take seconds. */
function linkSource(folder: string): void {
  const installed = join(folder, 'node_modules', 'backscroll-client');
  mkdirSync(installed, { recursive: true });
  writeFileSync(join(installed, 'package.json'), '{"type":"module","exports":"./src/index.ts"}');
  symlinkSync(join(here, 'src'), join(installed, 'src'));
}

describe('the package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'backscroll-client-'));
  let files: string[] = [];
  let service: Service;
  let program = '';

  before(async () => {
    writeFileSync(join(folder, 'package.json'), '{"name":"user","private":true,"type":"module"}');
    if (isLong) files = await installPackage(folder);
    else linkSource(folder);

    service = await startService('sqlite');
    const secrets = await loadStarter(service.store);
    program = [...readme.matchAll(/^```js\n(.*?)^```$/gms)]
      .map(([, code]) => code)
      .join('\n')
      .replaceAll('http://127.0.0.1:5001', service.base)
      .replaceAll('app-…', secrets.app)
      .replaceAll('admin-…', secrets.admin)
      .replaceAll('feed-…', secrets.feed)
      .replaceAll('dataset-…', secrets.knowledge)
      .replaceAll('writer-…', secrets.writer);
    writeFileSync(join(folder, 'readme.js'), program);
  });
  after(async () => {
    rmSync(folder, { recursive: true, force: true });
    await service?.close();
  });

  it('contains what was built of the source, and depends on nothing', () => {
    const { dependencies, files } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
    assert.deepEqual([files, dependencies], [['dist'], undefined]);
    const licence = (path: string) => readFileSync(join(path, 'LICENSE'), 'utf8');
    assert.equal(licence(here), licence(repository));
  });

  itLong('contains JavaScript, types, a licence and a README, and nothing else', () => {
    const modules = [
      'changes',
      'client',
      'error-classes',
      'errors',
      'history',
      'index',
      'lists',
      'options',
      'own-lists',
      'paths',
      'requests',
      'retry',
      'transport',
      'types',
    ];
    const built = modules.flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`]);
    assert.deepEqual(files.sort(), ['LICENSE', 'README.md', ...built, 'package.json'].sort());
  });

  it('runs every example of the README, in test:all on every installed Node.js', async () => {
    const expected = /-> .*\n5\n.*conversation not exists\n$/s;
    for (const node of firstOrAll(runtimes())) {
      const { stdout, stderr } = await run(node, ['readme.js'], { cwd: folder });
      assert.match(stdout, expected, node);
      assert.equal(stdout.split('\n').filter((line) => line.includes(' -> ')).length >= 45, true, 'the whole history');
      assert.equal(stderr, '', node);
    }
    const edited = await service.request('GET', chunkPathOf(program), { key: /dataset-[\w-]+/.exec(program)?.[0] });
    assert.match(edited.body.data.content, /Keep the screw\./);
  });

  itLong('has types that accept every example of the README, and reject a misuse', async () => {
    const typeRoots = [join(repository, 'node_modules', '@types')];
    const checks = { strict: true, checkJs: true, allowJs: true, noEmit: true, exactOptionalPropertyTypes: true };
    const compilerOptions = {
      ...checks,
      target: 'es2022',
      module: 'nodenext',
      types: ['node'],
      typeRoots,
      skipDefaultLibCheck: true,
    };
    const files = ['readme.js', 'misuse.ts'];
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
    writeFileSync(join(folder, 'misuse.ts'), misuse);
    const tsc = join(repository, 'node_modules', '.bin', 'tsc');
    const { stdout } = await run(tsc, ['--checkers', '1', '-p', folder]).catch(({ stdout }) => ({ stdout }));
    assert.equal(stdout, '');
  });

  it('has a README with an example of every method', () => {
    const methods = Object.getOwnPropertyNames(Backscroll.prototype).filter((name) => name !== 'constructor');
    assert.ok(methods.length > 15);
    for (const name of methods) assert.ok(program.includes(`.${name}(`), name);
  });

  it('has a README that names every error', () => {
    const classes = readFileSync(join(here, 'src', 'errors.ts'), 'utf8').matchAll(/^export class (\w+)/gm);
    for (const [, name = ''] of classes) assert.ok(readme.includes(`\`${name}\``), name);
  });
});

function chunkPathOf(text: string): string {
  const id = (name: string) => new RegExp(`${name}: '([\\w-]+)'`).exec(text)?.[1];
  const document = `/v1/datasets/${id('dataset_id')}/documents/${id('document_id')}`;
  return `${document}/segments/${id('segment_id')}/child_chunks/${id('child_chunk_id')}`;
}
