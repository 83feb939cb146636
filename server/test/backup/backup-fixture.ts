import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { call, newFolder, oneLine, type Scope, type Settings } from '../support/cli-helpers.ts';
import { makeTwoTenants, message, ndjson } from '../support/harness.ts';

export const text = 'thetextthatiserased';
export const time = (id: string) => id.replace(/^(....)(..)(..)T(..)(..)(..)Z.*/, '$1-$2-$3T$4:$5:$6Z');

/** A folder with a database, and another conversation of its first app to erase. */
export async function newDatabase(scope: Scope) {
  const cwd = await newFolder(scope);
  const tenants = makeTwoTenants();
  const { one, records } = tenants;
  const conversation = { record: 'conversation', id: randomUUID(), app_id: one.ids.app, user: 'eve' };
  const messages = [1, 2, 3].map((at) => message(conversation.id, at, { query: text }));
  const runHere = (args: string[], env: Settings = {}, stdin = '') => call(args, { cwd, env, stdin });
  const succeed = async (...given: Parameters<typeof runHere>) => {
    const { code, stdout, stderr } = await runHere(...given);
    assert.deepEqual([code, stderr], [0, ''], given[0].join(' '));
    return stdout;
  };
  const fail = async (expected: RegExp, ...given: Parameters<typeof runHere>) => {
    const { code, stdout, stderr } = await runHere(...given);
    assert.deepEqual([code, stdout], [1, ''], given[0].join(' '));
    assert.match(stderr, oneLine);
    assert.match(stderr, expected);
    return stderr;
  };
  await succeed(['import', '-'], {}, ndjson([...records, conversation, ...messages]));
  const store = join(cwd, 'store');
  return {
    ...{ cwd, ...tenants, conversation, messages, runHere, succeed, fail, store },
    database: join(cwd, 'data', 'backscroll.db'),
    /** Its id. */
    backUp: async (env: Settings = {}) => {
      const stdout = await succeed(['backup'], { BACKUP_URL: 'store', ...env });
      return /\/(\d{8}T\d{6}Z-[0-9a-f]{8}) in /.exec(stdout)?.[1] ?? assert.fail(stdout);
    },
    /** Another time than that of the run: a backup of it. */
    rename: async (id: string, earlier: string) => {
      await rename(join(store, id), join(store, earlier));
      return earlier;
    },
    ids: () => readdirSync(store).filter((name) => name !== 'erased'),
    exported: (file?: string) => succeed(['export'], file === undefined ? {} : { DATABASE_URL: `sqlite:${file}` }),
  };
}

export const rowsOf = (file: string, sql: string) => {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return db.prepare(sql).all();
  } finally {
    db.close();
  }
};
