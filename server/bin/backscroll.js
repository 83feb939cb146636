#!/bin/sh
':' //; n="$(dirname "$0")/node"; [ -x "$n" ] || n=node; exec "$n" "$0" "$@"
// Both a shell script and a module: the shell line starts the Node.js installed beside this command, where there is one
// (the project pins it as a dependency), and otherwise the one on the path. `exec` keeps one process, so signals arrive.
import { existsSync } from 'node:fs';

if (Number(process.versions.node.split('.')[0]) < 24) {
  console.error(`backscroll needs Node.js 24 or newer; this is ${process.version}`);
  process.exitCode = 1;
} else {
  const source = new URL('../src/cli/main.ts', import.meta.url);
  const { main } = await import(existsSync(source) ? source.href : '../dist/cli/main.js');
  process.exitCode = await main(process.argv.slice(2));
}
