import { join } from 'node:path';
import { buildIndex, chat, importLines, knowledge, type Shape } from './data.ts';
import type { Bench } from './goal.ts';
import { fullOr } from './quick.ts';

/** The database that most goals use: pages of 20 messages of about 3.5 kB each. */
export const shape: Shape = { conversations: fullOr(2_000, 20), messages: 60, bytes: 2_900 };
/** Child chunks to edit. */
export const chunks = fullOr(5_000, 200);

/** The lines of its records. */
export function* records(): Generator<string> {
  yield* chat(shape);
  yield* knowledge(chunks);
}

const databases = new WeakMap<Bench, Promise<string>>();

/** The path of this database on the embedded engine. The first call fills it. */
export function pagesDatabase(bench: Bench): Promise<string> {
  const filled = databases.get(bench) ?? fill(join(bench.folder, 'pages.db'));
  databases.set(bench, filled);
  return filled;
}

async function fill(file: string): Promise<string> {
  await importLines(`sqlite:${file}`, records());
  await buildIndex(`sqlite:${file}`);
  return file;
}
