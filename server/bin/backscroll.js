#!/bin/sh
':' //; n="$(dirname "$0")/node"; [ -x "$n" ] || n=node; exec "$n" "$0" "$@"
// Both a shell script and a module: the shell line starts the Node.js installed beside this command, where there is one
// (the project pins it as a dependency), and otherwise the one on the path. `exec` keeps one process, so signals arrive.
import { existsSync, mkdirSync, statSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

if (Number(process.versions.node.split('.')[0]) < 24) {
  console.error(`backscroll needs Node.js 24 or newer; this is ${process.version}`);
  process.exitCode = 1;
} else {
  keepCompiledCode();
  const source = new URL('../src/cli/main.ts', import.meta.url);
  const { main } = await import(existsSync(source) ? source.href : '../dist/cli/main.js');
  process.exitCode = await main(process.argv.slice(2));
}

/**
 * Lets Node.js keep our code as compiled, which halves the time that later starts take. Who can write there can make us run
 * anything, so it is kept among the program's own files, closed to others, and only by the user these belong to: nobody
 * gets in who could not change the program itself, and root leaves nothing behind that the owner cannot remove.
 * Where the program belongs to somebody else or cannot be written to, nothing is kept.
 */
function keepCompiledCode() {
  const { NODE_COMPILE_CACHE, NODE_DISABLE_COMPILE_CACHE } = process.env;
  if (NODE_COMPILE_CACHE || NODE_DISABLE_COMPILE_CACHE) return;
  const program = fileURLToPath(new URL('..', import.meta.url));
  const folder = `${program}.cache`;
  try {
    if (process.getuid && statSync(program).uid !== process.getuid()) return;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch {
    return;
  }
  module.enableCompileCache(folder);
  // Threads do not share it otherwise.
  process.env.NODE_COMPILE_CACHE = folder;
  // It is written at the exit, which a service that is killed does not come to.
  setTimeout(module.flushCompileCache, 2_000).unref();
}
