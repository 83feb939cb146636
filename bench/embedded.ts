import { join } from 'node:path';
import { chat, importLines, knowledge, type Shape } from './data.ts';
import type { Bench } from './result.ts';

/** The database that most measurements read: pages of 20 messages of about 3.5 KB each, and chunks to edit. */
export const shape: Shape = { conversations: 2_000, messages: 60, bytes: 2_900 };
export const chunks = 5_000;

export function* records(): Generator<string> {
  yield* chat(shape);
  yield* knowledge(chunks);
}

const made = new WeakMap<Bench, Promise<string>>();

/** Its address, on the embedded engine; made when first asked for. */
export function embeddedDatabase(bench: Bench): Promise<string> {
  let address = made.get(bench);
  if (address === undefined) {
    address = make(bench);
    made.set(bench, address);
  }
  return address;
}

async function make({ folder, say }: Bench): Promise<string> {
  say(`importing ${shape.conversations * shape.messages} messages into the embedded engine`);
  const database = `sqlite:${join(folder, 'pages.db')}`;
  await importLines(database, records());
  return database;
}
