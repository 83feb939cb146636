import { existsSync } from 'node:fs';
import { BadSetting, readConfig, settingsHelp } from '../config.ts';
import { productVersion } from '../contract/product.ts';
import type { Command } from './command.ts';
import { print, Usage, visible } from './terminal.ts';

/** A command is loaded when it is used: a short command does not load the whole service. */
const commands: Record<string, () => Promise<Command>> = {
  serve: async () => (await import('./serve.ts')).serveCommand,
  init: async () => (await import('./init.ts')).initCommand,
  import: async () => (await import('./records.ts')).importCommand,
  export: async () => (await import('./records.ts')).exportCommand,
  backup: async () => (await import('./backup.ts')).backupCommand,
  restore: async () => (await import('./restore.ts')).restoreCommand,
  keys: async () => (await import('./keys.ts')).keysCommand,
  people: async () => (await import('./people.ts')).peopleCommand,
  migrate: async () => (await import('./migrate.ts')).migrateCommand,
  changes: async () => (await import('./changes.ts')).changesCommand,
  reindex: async () => (await import('./changes.ts')).reindexCommand,
  audit: async () => (await import('./audit.ts')).auditCommand,
  purge: async () => (await import('./purge.ts')).purgeCommand,
  retain: async () => (await import('./purge.ts')).retainCommand,
};

const help = `backscroll: a self-hosted server for chat message history, knowledge chunks and model listings

Usage: backscroll COMMAND [OPTIONS]       (in a checkout: npx backscroll …)

Commands:
  serve      serve the HTTP API
  init       create an app and its keys, and show what to try first
  import     import records
  export     export records
  backup     copy the embedded database while the service runs
  restore    restore the embedded database from a store of backups
  keys       create, update, list and revoke API keys
  people     list, sign out, block and unblock people who signed in by name
  migrate    bring the database schema up to date
  changes    print changed records, and follow changes
  reindex    rebuild the search index
  audit      show the audit log
  purge      erase conversations permanently
  retain     erase conversations that are past the retention period of their app

Options:
  --help     show this text, or the help of a command: backscroll COMMAND --help
  --version  show the version

Settings come from the environment, or from a file .env in the working directory:
${settingsHelp()}`;

/** Runs one command and returns the exit code: 0 success, 1 failure, 2 wrong usage. */
export async function main(argv: string[]): Promise<number> {
  const [name, ...rest] = argv;
  let commandName = '';
  // A program that reads our output may stop early, as `head` does.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    print(help);
    return 0;
  }
  if (name === '--version' || name === '-v') {
    print(productVersion());
    return 0;
  }
  try {
    const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (load === undefined) throw new Usage(`unknown command '${name}'`);
    commandName = `${name} `;
    const command = await load();
    if (rest.includes('--help') || rest.includes('-h')) {
      print(command.help);
      return 0;
    }
    if (existsSync('.env')) process.loadEnvFile('.env');
    return await command.run(rest, readConfig(process.env));
  } catch (error) {
    return explain(error as Error, commandName);
  }
}

/** Writes one line to standard error and returns the exit code. `commandName` is empty if the command does not exist. */
function explain(error: Error, commandName: string): number {
  if ((error as NodeJS.ErrnoException).code === 'EPIPE') return 0;
  const wrongUsage = error instanceof Usage;
  const hint = wrongUsage ? ` (see npx backscroll ${commandName}--help)` : '';
  const start = error instanceof BadSetting || wrongUsage ? 'backscroll: ' : '';
  const reason = error.cause instanceof Error ? error.cause.message : error.cause;
  const cause = typeof reason === 'string' && reason !== '' ? `: ${reason}` : '';
  process.stderr.write(`${start}${visible(`${error.message}${cause}`.replaceAll('\n', ' '))}${hint}\n`);
  return wrongUsage ? 2 : 1;
}
