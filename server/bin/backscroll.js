#!/bin/sh
':' //; n="$(dirname "$0")/node"; [ -x "$n" ] || n=node; exec "$n" "$0" "$@"
// This file is both a shell script and a module. The shell line starts the Node.js that is installed beside this command
// (the project pins it as a dependency), or else the one on the path. `exec` keeps one process, so signals reach it.
import { existsSync, mkdirSync, statSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

if (Number(process.versions.node.split('.')[0]) < 24) {
  console.error(`backscroll needs Node.js 24 or newer; this is ${process.version}`);
  process.exitCode = 1;
} else {
  cacheCompiledCode();
  const source = new URL('../src/cli/main.ts', import.meta.url);
  const { main } = await import(existsSync(source) ? source.href : '../dist/cli/main.js');
  process.exitCode = await main(process.argv.slice(2));
}

/**
 * Lets Node.js cache our compiled code, which halves the time of later starts. Anyone who can write to the cache can make
 * the program run anything. So the cache is a private folder among the program's own files, and is used only by the owner of
 * these files: no one can write to it who could not change the program itself, and root leaves no files behind that the owner
 * cannot delete. Without write access to the program's folder there is no cache.
 */
function cacheCompiledCode() {
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
  // Threads use the cache only through this variable.
  process.env.NODE_COMPILE_CACHE = folder;
  // Node.js writes the cache at exit, which a killed service never reaches.
  setTimeout(module.flushCompileCache, 2_000).unref();
}
