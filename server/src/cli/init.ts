import type { Config } from '../config.ts';
import { appendLine, clientLine, firstKey, readLine } from '../contract/console/first-message.ts';
import { createApp } from '../domain/import/apps.ts';
import { commandLine } from '../domain/import/check-references.ts';
import { createKey } from '../domain/keys/create-key.ts';
import { conversationIdOf } from '../domain/messages/item-conversations.ts';
import type { Store } from '../domain/store/store.ts';
import { addressOf, type Command, epochSeconds, withStore } from './command.ts';
import { parse, print, text, Usage, visible } from './terminal.ts';

export const initCommand: Command = {
  help: `Usage: backscroll init NAME [--workspace ID]

Creates an app with this name, a key that reads its conversations and one that writes them, and a workspace if there is
none. Prints what to try first. The secrets are shown once; only their digests are stored. It can run while the service
runs, and again for another app.

Options:
  --workspace ID  the workspace of the app, if there are several`,

  run: async (argv, config) => {
    const { values, positionals } = parse(argv, { workspace: text }, { max: 1 });
    const [name] = positionals;
    if (name === undefined) throw new Usage('init needs the name of the app');
    print(await withStore(config, 'create', (store) => init(store, config, name, values.workspace)));
    return 0;
  },
};

async function init(store: Store, config: Config, name: string, workspace_id?: string): Promise<string> {
  const now = epochSeconds();
  const app = await createApp(store, { name, ...(workspace_id && { workspace_id }) }, commandLine, now);
  const newKey = (kind: 'app' | 'writer') => createKey(store, { kind, app_id: app.id, name }, { key_id: null, now });
  const reader = await newKey('app');
  const writer = await newKey('writer');
  const base = config.public_url ?? addressOf(config.host, config.port);
  return `\
Created the app ${visible(app.name)} (${app.id}) in the workspace ${visible(app.workspace_name)}.

Its keys, shown only once:
  app     ${reader.secret}  (reads)
  writer  ${writer.secret}  (writes)

With the OpenAI client, which keeps its conversations here:
${clientLine(base, writer.secret)}

Append a first message:
${appendLine(base, writer.secret)}

Read it:
${readLine(base, reader.secret, conversationIdOf(writer.id, firstKey))}

These need the service: npx backscroll serve
A key for the console: npx backscroll keys create --kind admin --name NAME`;
}
