import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/**
 * Publishes both packages to a registry on this machine, installs them from there into an empty folder, and uses them as a
 * newcomer does. If `kubeconform` is installed, it also validates the files for Kubernetes. `npm run rehearse`.
 */

const registryVersion = '6.10.4';
const repository = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'backscroll-release-'));
const port = 4_873 + (process.pid % 1_000);
const registry = `http://127.0.0.1:${port}/`;
/** Of the service: another one may run on this machine. */
const PORT = `${port + 1_000}`;
const base = `http://127.0.0.1:${PORT}`;
const userconfig = join(folder, 'npmrc');
const kubernetes = ['common', 'embedded', 'postgres', 'secret.example'];
const readyMillisMax = 60_000;
const children: { kill(): void }[] = [];

const versionOf = (name: string): string =>
  JSON.parse(readFileSync(join(repository, name, 'package.json'), 'utf8')).version;

async function call(cwd: string, file: string, ...args: string[]): Promise<string> {
  const env = {
    ...process.env,
    PORT,
    npm_config_userconfig: userconfig,
    npm_config_registry: registry,
    npm_config_loglevel: 'error',
  };
  const { stdout } = await promisify(execFile)(file, args, { cwd, env, maxBuffer: 2 ** 26 });
  return stdout;
}

function check(isTrue: boolean, what: string): void {
  if (!isTrue) throw new Error(`not so: ${what}`);
  console.log(`ok   ${what}`);
}

async function untilResponds(url: string): Promise<void> {
  for (const end = Date.now() + readyMillisMax; ; await sleep(200)) {
    const isReady = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    if (Date.now() > end) throw new Error(`${url} does not respond`);
  }
}

async function startRegistry(): Promise<void> {
  const { stdout: upstream } = await promisify(execFile)('npm', ['config', 'get', 'registry'], { cwd: repository });
  const own = ['access: $all', 'publish: $all'].map((line) => `    ${line}\n`).join('');
  const config = join(folder, 'registry.yaml');
  writeFileSync(
    config,
    `storage: ./storage\nuplinks:\n  npm:\n    url: ${upstream.trim()}\npackages:\n` +
      `  backscroll:\n${own}  backscroll-client:\n${own}  '**':\n    access: $all\n    proxy: npm\nlog: { type: stdout, level: error }\n`,
  );
  const tools = join(folder, 'tools');
  mkdirSync(tools);
  // Of its part for audits, which asks for a tag that mirrors do not have.
  const overrides = { 'node-fetch': '2.7.0' };
  const manifest = { private: true, dependencies: { verdaccio: registryVersion }, overrides };
  writeFileSync(join(tools, 'package.json'), JSON.stringify(manifest));
  await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund'], {
    cwd: tools,
  });
  const bin = join(tools, 'node_modules', 'verdaccio', 'bin', 'verdaccio');
  const args = [bin, '--config', config, '--listen', `127.0.0.1:${port}`];
  children.push(spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] }));
  await untilResponds(`${registry}-/ping`);
  // Anyone may publish there, but npm sends nothing without a token.
  writeFileSync(userconfig, `//127.0.0.1:${port}/:_authToken=none\n`);
}

async function publish(): Promise<void> {
  for (const name of ['server', 'client']) await call(repository, 'npm', 'publish', '--workspace', name);
  const [{ files }] = JSON.parse(await call(folder, 'npm', 'pack', 'backscroll', '--json'));
  const names: string[] = files.map(({ path }: { path: string }) => path);
  const foreign = names.filter((name) => !/^(bin|dist|starter)\/|^(package\.json|README\.md|LICENSE)$/.test(name));
  check(foreign.length === 0, `the package has ${names.length} files, none of them foreign ${foreign.join(' ')}`);
  check(!names.some((name) => name.endsWith('.map') || name.endsWith('.ts')), 'it has no sources and no maps');
}

/** The first five minutes of a person with Node.js. */
async function useIt(): Promise<void> {
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  const version = versionOf('server');
  const run = (...args: string[]) => call(empty, 'npx', '--yes', `backscroll@${version}`, ...args);
  check((await run('--version')).includes(version), `npx backscroll@${version} --version`);
  const shown = await run('init', 'Help desk');
  // They go on after a backslash, and in quotes.
  const [append = '', read = ''] = shown.match(/^curl (?:'[^']*'|\\\n|[^\n'])*/gm) ?? [];
  await call(
    empty,
    'npm',
    'install',
    '--no-audit',
    '--no-fund',
    `backscroll@${version}`,
    `backscroll-client@${versionOf('client')}`,
  );
  const bin = join('node_modules', 'backscroll', 'bin', 'backscroll.js');
  const service = spawn(process.execPath, [bin, 'serve'], {
    cwd: empty,
    env: { ...process.env, PORT },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  children.push(service);
  await untilResponds(`${base}/health/ready`);
  for (const line of [append, read]) await call(empty, 'sh', '-c', line.replace('curl', 'curl --fail'));
  check(true, 'init prints two commands that work');
  const key = /Bearer (app-[\w-]+)/.exec(read)?.[1];
  const page = `import { Backscroll } from 'backscroll-client';
    const client = new Backscroll({ baseUrl: '${base}/v1', key: '${key}' });
    for await (const { name } of client.conversations()) console.log(name);`;
  const listed = await call(empty, process.execPath, '--input-type=module', '-e', page);
  check(listed === 'Hello?\n', 'backscroll-client lists the conversation');
  for (const path of ['/console', '/docs', '/openapi.json']) check((await fetch(`${base}${path}`)).ok, path);
  service.kill('SIGTERM');
  await once(service, 'exit');
  await call(empty, join(repository, '.github', 'first-requests.sh'), bin);
  check(true, 'serve --starter prints three commands that work');
}

async function validateKubernetes(): Promise<void> {
  const { KUBECONFORM: program = 'kubeconform', KUBECONFORM_SCHEMAS: schemas = 'default' } = process.env;
  const files = kubernetes.map((name) => join(repository, 'deploy', 'kubernetes', `${name}.yaml`));
  const args = ['-strict', '-summary', '-schema-location', schemas, ...files];
  const missing = await call(folder, program, ...args).catch((error) => {
    if (error.code !== 'ENOENT') throw new Error(error.stdout || error.message);
    return undefined;
  });
  if (missing === undefined) console.log('skip the files for Kubernetes: kubeconform is not installed');
  else check(true, `the files for Kubernetes: ${missing.trim()}`);
}

try {
  await startRegistry();
  await publish();
  await useIt();
  await validateKubernetes();
} finally {
  for (const child of children) child.kill();
  rmSync(folder, { recursive: true, force: true });
}
