import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { newFolder, type Scope, type ServerProcess, serveWithWorkers } from '../../server/test/support/cli-helpers.ts';
import { chunkPath, makeTwoTenants, message, type Tenant } from '../../server/test/support/harness.ts';
import { importRecords } from './experiment.ts';

export type Chunk = { id: string; path: string };
export type Installation = {
  cwd: string;
  env: Record<string, string>;
  one: Tenant;
  admin: string;
  chunks: Chunk[];
  start: () => Promise<ServerProcess>;
};

export const text = (n: number): string => `text ${n}`;
export const numberOf = (content: unknown): number => Number(/^text (\d+)$/.exec(String(content))?.[1]);

/**
 * Creates a database with one tenant and `chunks` child chunks with the content `text 0`. SQLite unless a URL is given.
 * `start` serves it.
 */
export async function install(
  scope: Scope,
  options: { chunks: number; url?: string; settings?: Record<string, string>; records?: object[] },
): Promise<Installation> {
  const cwd = await newFolder(scope);
  const env = { DATABASE_URL: options.url ?? `sqlite:${join(cwd, 'test.db')}`, ...options.settings };
  const { one, admin, records } = makeTwoTenants();
  const chunks = Array.from({ length: options.chunks }, () => {
    const chunk = randomUUID();
    return { id: chunk, path: chunkPath({ ...one.ids, chunk }) };
  });
  const more = chunks.map(({ id }, at) => ({
    record: 'child_chunk',
    id,
    segment_id: one.ids.segment,
    position: at + 2,
    content: text(0),
  }));
  await importRecords([...records, ...more, message(one.ids.conversation, 1), ...(options.records ?? [])], {
    cwd,
    env,
  });
  return { cwd, env, one, admin, chunks, start: () => serveWithWorkers(scope, { cwd, env }) };
}

export const fileOf = ({ env }: Installation): string => env.DATABASE_URL?.replace(/^sqlite:/, '') ?? '';
