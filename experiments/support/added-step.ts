import { DatabaseSync } from 'node:sqlite';
import { isMainThread } from 'node:worker_threads';
import { distribution } from '../../server/src/store/base/distribution.ts';
import { migrations, toDialect } from '../../server/src/store/schema/schema.ts';
import type { Settings } from '../../server/test/support/cli-helpers.ts';

/**
 * Gives the program a migration step more. A process of the program loads this module first (`withAddedStep`), counts the
 * statements that it sends to its database, and ends itself with SIGKILL before one of them.
 */

const addedStatements = [
  'ALTER TABLE messages ADD COLUMN added_at BIGINT NOT NULL DEFAULT 0',
  'UPDATE messages SET added_at = created_at + 1',
  'DROP INDEX conversations_by_latest',
  'CREATE INDEX conversations_by_latest ON conversations (updated_at DESC, conversation_id) WHERE deleted = 0',
  'CREATE TABLE added_rows (conversation_id TEXT NOT NULL PRIMARY KEY, messages BIGINT NOT NULL)',
  'INSERT INTO added_rows SELECT conversation_id, COUNT(*) FROM messages GROUP BY conversation_id',
];

/** Before the added step. */
export const currentVersion = migrations.sqlite.at(-1)?.version ?? 0;
export const addedVersion = currentVersion + 1;

/** The environment of a process that has the added step, and is killed before its statement of this number. */
export const withAddedStep = (killBefore = Number.POSITIVE_INFINITY): Settings => ({
  NODE_OPTIONS: `--import=${import.meta.url}`,
  TEST_KILL_BEFORE: `${killBefore}`,
});

/** How many statements a process with the added step has sent, from its error output. */
export const statementsOf = (stderr: string): number => Number(/^statements: (\d+)$/m.exec(stderr)?.[1]);

if (process.env.TEST_KILL_BEFORE !== undefined) {
  addStep();
  await killBeforeStatement(Number(process.env.TEST_KILL_BEFORE));
}

/** Before the modules are loaded that read the lists. */
function addStep(): void {
  for (const engine of ['sqlite', 'postgres'] as const) {
    const statements = addedStatements.map(toDialect[engine]);
    migrations[engine].push({ version: addedVersion, name: 'added', statements });
  }
  Object.assign(distribution.distributed, { added_rows: 'conversation_id' });
}

async function killBeforeStatement(last: number): Promise<void> {
  let statements = 0;
  const counted = (prototype: object, name: string) => {
    const send = Reflect.get(prototype, name) as (...values: unknown[]) => unknown;
    Reflect.set(prototype, name, function (this: unknown, ...values: unknown[]) {
      statements += 1;
      if (statements >= last) process.kill(process.pid, 'SIGKILL');
      return send.apply(this, values);
    });
  };
  if (process.env.DATABASE_URL?.startsWith('postgres')) {
    const { default: pg } = await import('pg');
    counted(pg.Client.prototype, 'query');
  } else {
    counted(DatabaseSync.prototype, 'exec');
    counted(DatabaseSync.prototype, 'prepare');
  }
  if (isMainThread) process.on('exit', () => process.stderr.write(`statements: ${statements}\n`));
}
