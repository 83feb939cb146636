import { appendFileSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type SentStatement, startProxy } from '../store/recording-proxy.ts';
import { type Engine, parseLines } from '../support/harness.ts';

/** Every statement that commands send to their database, in order. On the embedded engine its name is that of the thread. */
export type Recording = {
  /** Of the commands. */
  env: Record<string, string>;
  statements: () => SentStatement[];
  /** Forgets what was sent so far. */
  reset: () => void;
  close: () => Promise<void>;
};

/** Loaded before the command, in every thread: writes the text of each statement that SQLite executes into a file. */
const preload = `
const { openSync, writeSync } = require('node:fs');
const { DatabaseSync, StatementSync } = require('node:sqlite');
const { threadId } = require('node:worker_threads');
const file = openSync(process.env.TEST_STATEMENTS, 'a');
const note = (text) => writeSync(file, JSON.stringify({ name: 'thread ' + threadId, text, values: [] }) + '\\n');
for (const method of ['all', 'get', 'run', 'iterate']) {
  const original = StatementSync.prototype[method];
  StatementSync.prototype[method] = function (...values) {
    note(this.sourceSQL);
    return original.apply(this, values);
  };
}
const { exec } = DatabaseSync.prototype;
DatabaseSync.prototype.exec = function (text) {
  note(text);
  return exec.call(this, text);
};`;

/** PostgreSQL is reached through a proxy that reads along; the embedded engine is told apart in the process of the command. */
export async function recordStatements(engine: Engine, url: string, folder: string): Promise<Recording> {
  if (engine === 'postgres') {
    const { traffic, close, ...proxy } = await startProxy(url);
    return {
      env: { DATABASE_URL: proxy.url },
      statements: () => [...traffic.statements],
      reset: () => void traffic.statements.splice(0),
      close,
    };
  }
  const [file, module] = [join(folder, 'statements'), join(folder, 'record-statements.cjs')];
  await writeFile(module, preload);
  appendFileSync(file, '');
  let start = 0;
  return {
    env: { DATABASE_URL: url, TEST_STATEMENTS: file, NODE_OPTIONS: `--require=${module}` },
    statements: () => parseLines(readFileSync(file, 'utf8')).slice(start),
    reset: () => {
      start = parseLines(readFileSync(file, 'utf8')).length;
    },
    close: async () => undefined,
  };
}
