import { createInterface } from 'node:readline/promises';
import { canonicalId } from '../contract/primitives.ts';
import type { PurgeSelection } from '../domain/store/store.ts';
import { type Command, epochSeconds, parse, print, Usage, withStore } from './command.ts';

export const purgeCommand: Command = {
  help: `Usage: backscroll purge --conversation ID [--yes]
       backscroll purge --app ID --user USER [--yes]

Erases conversations and their messages permanently: one conversation, or all conversations of a user in an app.
Prompts for confirmation, unless --yes is given. Only a backup can restore them.`,

  run: async (argv, config) => {
    const { values } = parse(
      argv,
      {
        conversation: { type: 'string' },
        app: { type: 'string' },
        user: { type: 'string' },
        yes: { type: 'boolean' },
      },
      { max: 0 },
    );
    const selection = selectionOf(values as { conversation?: string; app?: string; user?: string });
    return withStore(config, 'existing', async (store) => {
      const counts = await store.countConversations(selection);
      if (counts.conversations > 0 && !values.yes && !(await confirm(`erase ${describe(counts)} permanently?`))) {
        throw new Error('nothing was erased');
      }
      print(`erased ${describe(await store.purge(selection, epochSeconds()))}`);
      return 0;
    });
  },
};

function selectionOf({
  conversation,
  app,
  user,
}: {
  conversation?: string;
  app?: string;
  user?: string;
}): PurgeSelection {
  if (conversation && app === undefined && user === undefined) {
    return { conversation_id: canonicalId(conversation) };
  }
  if (conversation === undefined && app && user) return { app_id: canonicalId(app), user };
  throw new Usage('purge needs --conversation ID, or --app ID and --user USER');
}

function describe({ conversations, messages }: { conversations: number; messages: number }): string {
  const count = (n: number, noun: string) => `${n} ${noun}${n === 1 ? '' : 's'}`;
  return `${count(conversations, 'conversation')} with ${count(messages, 'message')}`;
}

async function confirm(prompt: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // The end of the input counts as no.
  const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  const reply = await Promise.race([terminal.question(`${prompt} [y/N] `), ended]);
  terminal.close();
  return /^y(es)?$/i.test(reply.trim());
}
