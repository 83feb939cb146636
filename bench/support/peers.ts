import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { script } from './servers.ts';

/** Programs that a user could choose instead. They are built once and kept in the folder of temporary files. */

const run = promisify(execFile);
const folder = join(tmpdir(), 'backscroll-bench-peers');
const buildMillisMax = 1_800_000;
const pocketbase = 'github.com/pocketbase/pocketbase/examples/base@v0.36.8';

/** The path of a program, or why there is none. */
export type Program = { path: string; missing?: undefined } | { path?: undefined; missing: string };

async function build(program: string, command: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv) {
  try {
    await run(command, args, { cwd, env: { ...process.env, ...env }, timeout: buildMillisMax });
    return { path: join(folder, program) };
  } catch (error) {
    const { code, stderr, message } = error as { code?: string; stderr?: string; message: string };
    return { missing: code === 'ENOENT' ? `there is no ${command}` : (stderr?.trim().split('\n').at(-1) ?? message) };
  }
}

export type Peers = { rust: Program; go: Program; pocketbase: Program };

/** The packages are downloaded. */
export async function buildPeers(): Promise<Peers> {
  const cargo = ['build', '--release', '--locked'];
  const [rust, go] = await Promise.all([
    build('release/peer', 'cargo', cargo, script('peers/rust'), { CARGO_TARGET_DIR: folder }),
    build('go-peer', 'go', ['build', '-o', join(folder, 'go-peer'), '.'], script('peers/go'), { CGO_ENABLED: '1' }),
  ]);
  const install = { GOBIN: folder, CGO_ENABLED: '0' };
  return { rust, go, pocketbase: await build('base', 'go', ['install', pocketbase], tmpdir(), install) };
}
