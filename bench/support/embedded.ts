import { join } from 'node:path';
import { buildIndex, chat, importLines, knowledge, type Shape } from './data.ts';
import type { Bench } from './result.ts';

/** The database that most measurements use: pages of 20 messages of about 3.5 kB each, and chunks to edit. */
export const shape: Shape = { conversations: 2_000, messages: 60, bytes: 2_900 };
export const chunks = 5_000;

export function* records(): Generator<string> {
  yield* chat(shape);
  yield* knowledge(chunks);
}

const databases = new WeakMap<Bench, Promise<string>>();

/** The URL of this database on the embedded engine. The first call creates it. */
export function embeddedDatabase(bench: Bench): Promise<string> {
  let url = databases.get(bench);
  if (url === undefined) {
    url = createDatabase(bench);
    databases.set(bench, url);
  }
  return url;
}

async function createDatabase({ folder, log }: Bench): Promise<string> {
  log(`importing ${shape.conversations * shape.messages} messages into the embedded engine`);
  const database = `sqlite:${join(folder, 'pages.db')}`;
  await importLines(database, records());
  await buildIndex(database);
  return database;
}
