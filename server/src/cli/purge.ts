import { createInterface } from 'node:readline/promises';
import { purge, purgeSelection } from '../domain/erasure/purge.ts';
import { type RetainedApp, retain } from '../domain/erasure/retention.ts';
import { underLease } from '../domain/lease.ts';
import type { ErasedCopies, PurgeSelection } from '../domain/store/erasure.ts';
import { retentionLease } from '../service/retention.ts';
import { type Command, epochSeconds, withStore } from './command.ts';
import { flag, parse, print, text, Usage, visible } from './terminal.ts';

export const purgeCommand: Command = {
  help: `Usage: backscroll purge --conversation ID [--yes]
       backscroll purge --app ID --user USER [--yes]

Erases conversations and their messages permanently: one conversation, or all conversations of a user in an app.
Prompts for confirmation, unless --yes is given. Only a backup can restore them. Conversations on hold are erased, too.`,

  run: async (argv, config) => {
    const { values } = parse(argv, { conversation: text, app: text, user: text, yes: flag }, { max: 0 });
    const selection = selectionOf(values);
    return withStore(config, 'existing', async (store) => {
      const counts = await store.erasure.count(selection);
      if (counts.conversations > 0 && !values.yes && !(await confirm(`erase ${describe(counts)} permanently?`))) {
        throw new Error('nothing was erased');
      }
      const { held, copies, ...erased } = await purge(store, selection, { key_id: null, now: epochSeconds() });
      print(`erased ${describe(erased)}${held > 0 ? `, ${held} of them on hold` : ''}`);
      for (const place of copies) process.stderr.write(`${copiesIn[place]}\n`);
      return 0;
    });
  },
};

const copiesIn: Record<ErasedCopies, string> = {
  files:
    'files of the database still have copies, since another process reads older data; the service removes them when that ends',
  replica: 'a replicator has copied the files of the database: its replica has copies, too',
};

type Options = { conversation?: string | undefined; app?: string | undefined; user?: string | undefined };

/** The fields of the API are options here. */
function selectionOf({ conversation: conversation_id, app: app_id, user }: Options): PurgeSelection {
  try {
    return purgeSelection({ conversation_id, app_id, user });
  } catch {
    throw new Usage('purge needs --conversation ID, or --app ID and --user USER');
  }
}

export function describe({ conversations, messages }: { conversations: number; messages: number }): string {
  return `${countOf(conversations, 'conversation')} with ${countOf(messages, 'message')}`;
}

export const countOf = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;

async function confirm(prompt: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // The end of the input counts as no.
  const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  const reply = await Promise.race([terminal.question(`${prompt} [y/N] `), ended]);
  terminal.close();
  return /^y(es)?$/i.test(reply.trim());
}

export const retainCommand: Command = {
  help: `Usage: backscroll retain [--dry-run]

Permanently erases conversations whose last message is older than the retention period, as the service does every hour. The
period is retention_days of the app, else RETENTION_DAYS, else the last RETENTION_DAYS in force. Conversations on hold stay.

Options:
  --dry-run  print what would be erased, per app, and erase nothing`,

  run: async (argv, config) => {
    const { values } = parse(argv, { 'dry-run': flag }, { max: 0 });
    const isDry = values['dry-run'] === true;
    const { retention_days } = config;
    return withStore(config, 'existing', async (store) => {
      let apps = 0;
      const show = (app: RetainedApp) => {
        apps += 1;
        const { app_id, name, retention_days: days } = app;
        const action = isDry ? 'would erase' : 'erased';
        print(`${action} ${describe(app)} of ${visible(name)} (${app_id}), ${countOf(days, 'day')}`);
      };
      if (isDry) await retain(store, { now: epochSeconds(), isDry, retention_days }, show);
      else {
        if (retention_days !== undefined) await store.run('setRetentionDays', retention_days);
        const run = (signal: AbortSignal) => retain(store, { now: epochSeconds(), signal }, show);
        await underLease(retentionLease(store, Date.now), new AbortController().signal, run);
      }
      if (apps === 0) print('nothing is due');
      return 0;
    });
  },
};
