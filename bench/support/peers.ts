import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Server, script, startProgram } from './servers.ts';

/** Programs in other languages that serve the same pages from the same database file. Undefined without what builds them. */
export type Peer = { name: string; start: (databaseFile: string) => Promise<Server> };

const run = promisify(execFile);
const buildMillisMax = 900_000;

/** Builds a program in a temporary folder. The packages are downloaded. */
async function build(
  command: string,
  args: string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  try {
    await run(command, args, { cwd, env: { ...process.env, ...env }, timeout: buildMillisMax });
    return undefined;
  } catch (error) {
    const { code, stderr, message } = error as { code?: string; stderr?: string; message: string };
    return code === 'ENOENT' ? `there is no ${command}` : (stderr?.trim().split('\n').at(-1) ?? message);
  }
}

/** Says why a peer is left out. */
export async function buildPeers(folder: string, log: (text: string) => void): Promise<{ rust?: Peer; go?: Peer }> {
  const rustTarget = join(folder, 'peer-rust');
  const goProgram = join(folder, 'peer-go');
  log('building the peers');
  const rustFailure = await build('cargo', ['build', '--release', '--locked'], script('peers/rust'), {
    CARGO_TARGET_DIR: rustTarget,
  });
  const goFailure = await build('go', ['build', '-o', goProgram, '.'], script('peers/go'), { CGO_ENABLED: '1' });
  if (rustFailure !== undefined) log(`without the peer in Rust: ${rustFailure}`);
  if (goFailure !== undefined) log(`without the peer in Go: ${goFailure}`);
  const rust: Peer = {
    name: 'Rust: axum and rusqlite, one thread, without a cache',
    start: (file) => startProgram(folder, join(rustTarget, 'release', 'peer'), [file]),
  };
  const go: Peer = {
    name: 'Go: net/http and go-sqlite3, GOMAXPROCS=1, without a cache',
    start: (file) => startProgram(folder, goProgram, [file], { GOMAXPROCS: '1' }),
  };
  return { ...(rustFailure === undefined && { rust }), ...(goFailure === undefined && { go }) };
}
