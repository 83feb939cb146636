import { Readable, Writable } from 'node:stream';
import { main } from '../../../src/cli/main.ts';

/** Calls the command's entry point for each message of the parent process, which sends one at a time. */
export type Call = { args: readonly string[]; cwd: string; env: Record<string, string>; stdin: Uint8Array };
export type Result = { code: number; stdout: string; stderr: string };

const ownEnv = { ...process.env };
// A command may listen to the exit of its process, which this one outlives.
process.setMaxListeners(0);

process.on('message', async ({ args, cwd, env, stdin }: Call) => {
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, ownEnv, env);
  const [stdout, stderr] = [collector(), collector()];
  const streams = {
    stdin: Readable.from([stdin], { objectMode: false }),
    stdout: stdout.stream,
    stderr: stderr.stream,
  };
  for (const [name, value] of Object.entries(streams))
    Object.defineProperty(process, name, { value, configurable: true });
  const code = await main([...args]);
  const result: Result = { code, stdout: stdout.text(), stderr: stderr.text() };
  process.send?.(result);
});

function collector(): { stream: Writable; text: () => string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}
