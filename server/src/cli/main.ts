import { existsSync, readFileSync } from 'node:fs';
import { BadSetting, readConfig } from '../config.ts';
import { type Command, print, Usage } from './command.ts';
import { keysCommand } from './keys.ts';
import { migrateCommand } from './migrate.ts';
import { purgeCommand } from './purge.ts';
import { exportCommand, importCommand } from './records.ts';
import { serveCommand } from './serve.ts';

const commands: Record<string, Command> = {
  serve: serveCommand,
  import: importCommand,
  export: exportCommand,
  keys: keysCommand,
  migrate: migrateCommand,
  purge: purgeCommand,
};

const help = `backscroll: chat message history, knowledge chunks and model listings, served from your own machine

Usage: backscroll COMMAND [OPTIONS]

Commands:
  serve      serve the HTTP API
  import     take records in
  export     write all records out
  keys       create, list and revoke API keys
  migrate    bring the database schema up to date
  purge      erase conversations for good

Options:
  --help     show this, or the help of a command: backscroll COMMAND --help
  --version  show the version

Settings come from the environment, or from a file .env in the working directory:
  HOST           where to listen (127.0.0.1)
  PORT           port to listen on (5001)
  DATABASE_URL   sqlite:PATH (sqlite:data/backscroll.db)
  PAGE_ORDER     newest_first or oldest_first (newest_first)
  LOG_LEVEL      fatal, error, warn, info, debug, trace or silent (info)
  RATE_LIMIT     requests a second for one key, 0 for no limit (0)
  METRICS_TOKEN  a token that opens /metrics (none)`;

/** Runs one command and returns the exit code: 0 done, 1 failed, 2 wrongly called. */
export async function main(argv: string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    print(help);
    return name === undefined ? 2 : 0;
  }
  if (name === '--version') {
    print(readVersion());
    return 0;
  }
  try {
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (command === undefined) throw new Usage(`unknown command '${name}'`);
    if (rest.includes('--help') || rest.includes('-h')) {
      print(command.help);
      return 0;
    }
    if (existsSync('.env')) process.loadEnvFile('.env');
    return await command.run(rest, readConfig(process.env));
  } catch (error) {
    return explain(error as Error);
  }
}

/** One line on standard error. */
function explain(error: Error): number {
  if ((error as NodeJS.ErrnoException).code === 'EPIPE') return 0;
  const wrongUsage = error instanceof Usage;
  const hint = wrongUsage ? ' (see backscroll --help)' : '';
  const start = error instanceof BadSetting || wrongUsage ? 'backscroll: ' : '';
  process.stderr.write(`${start}${error.message.replaceAll('\n', ' ')}${hint}\n`);
  return wrongUsage ? 2 : 1;
}

function readVersion(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
}
