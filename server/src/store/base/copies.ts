import type { CopiesState, ErasedCopies } from '../../domain/store/erasure.ts';
import { newVersion } from '../../domain/version.ts';
import type { Dialect, Engine, WriteContext, WriteInput } from './engine.ts';
import { begin, execute, first, type Statement, type Write } from './statement.ts';

/**
 * Deleted texts leave copies in the files of the embedded engine: in unused parts of pages, until the file is rebuilt, and in
 * its log, until no other process reads older data. Each has a mark of its own, so that a log that has to wait does not cause
 * the file to be rebuilt again.
 */

/** Names of stored values: the two marks, and when both were last removed. */
const names = { file: 'copies_in_file', log: 'copies_in_log', removed: 'copies_removed_at' } as const;

/**
 * `since`: when the first of the erasures happened, in seconds; null if nothing was erased. `token` distinguishes the marks.
 * `salt`: identifies the log that may have copies; null until the first attempt to empty it.
 */
type Mark = { since: number | null; token: string; salt: string | null };

export const findValue: Statement<{ value: string }> = 'SELECT value FROM service_values WHERE name = ?';
export const setValue = `
  INSERT INTO service_values (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
/** Unless it has changed. Parameters: new value, name, value. */
const replaceValue = 'UPDATE service_values SET value = ? WHERE name = ? AND value = ?';
/** Unless it has changed. */
const removeValue = 'DELETE FROM service_values WHERE name = ? AND value = ?';
const findState: Statement<{ name: string; value: string }> = `
  SELECT name, value FROM service_values WHERE name IN ('${Object.values(names).join("', '")}')`;
/** The condition is that of the index. */
const noteCleaned = `
  UPDATE audit_entries SET cleaned_at = ? WHERE cleaned_at IS NULL AND action IN ('purge', 'retain') AND at < ?`;
/** A replicator that copies the file elsewhere adds tables of its own. */
const findReplicator: Statement<{ name: string }> =
  `SELECT name FROM sqlite_schema WHERE name GLOB '_litestream_*' LIMIT 1`;

const parse = (value: string | undefined): Mark | undefined => (value === undefined ? undefined : JSON.parse(value));

const earliest = (...times: (number | null | undefined)[]): number | null => {
  const known = times.filter((time) => typeof time === 'number');
  return known.length === 0 ? null : Math.min(...known);
};

/** Part of each write that deletes texts for good: whatever ends the process, the next one removes the copies. */
export function* markCopies({ leavesCopies }: Dialect, place: 'file' | 'log', since: number | null): Write<void> {
  if (!leavesCopies) return;
  const stored = parse((yield* first(findValue, names[place]))?.value);
  const mark: Mark = { since: earliest(stored?.since, since), token: newVersion(), salt: null };
  yield* execute(setValue, names[place], JSON.stringify(mark));
}

/** Writes nothing: the engine rebuilds its file after the transaction. */
export function* rebuildFile(): Write<undefined> {
  yield* begin();
}

/** Now the log has copies of what the file had. What was erased meanwhile has changed the mark, so that it stays. */
export function* noteRebuilt({ mark }: WriteInput<'noteRebuilt'>, { dialect }: WriteContext): Write<undefined> {
  yield* begin();
  yield* execute(removeValue, names.file, mark);
  yield* markCopies(dialect, 'log', parse(mark)?.since ?? null);
}

/** Writes nothing: the engine tries to empty its log after the transaction. */
export function* emptyLog(): Write<{ isEmpty: boolean; salt: string }> {
  yield* begin();
  return { isEmpty: false, salt: '' };
}

/** `salt`: the log is not empty yet. */
export function* noteLog({ mark, salt, now }: WriteInput<'noteLog'>): Write<undefined> {
  yield* begin();
  if (salt !== undefined) {
    yield* execute(replaceValue, JSON.stringify({ ...parse(mark), salt }), names.log, mark);
    return;
  }
  if ((yield* execute(removeValue, names.log, mark)) === 0) return;
  const file = parse((yield* first(findValue, names.file))?.value);
  yield* execute(noteCleaned, now, file?.since ?? Number.MAX_SAFE_INTEGER);
  // An index that was built again leaves copies in the log, too, although nothing was erased.
  const isErasure = typeof parse(mark)?.since === 'number';
  if (file === undefined && isErasure) yield* execute(setValue, names.removed, `${now}`);
}

export async function rebuildMarkedFile(engine: Engine): Promise<void> {
  const [mark] = await engine.read(findValue, names.file);
  if (mark === undefined) return;
  await engine.write('rebuildFile', undefined, { waitForever: true });
  await engine.write('noteRebuilt', { mark: mark.value }, { waitForever: true });
}

/** Returns whether the log has no copies any more. If not, another process reads older data: to be tried again later. */
export async function emptyMarkedLog(engine: Engine, now: number): Promise<boolean> {
  const [row] = await engine.read(findValue, names.log);
  const mark = parse(row?.value);
  if (row === undefined || mark === undefined) return true;
  const { isEmpty, salt } = await engine.write('emptyLog', { salt: mark.salt }, { waitForever: true });
  const isNoted = !isEmpty && mark.salt !== null;
  const outcome = { mark: row.value, now, salt: isEmpty ? undefined : salt };
  if (!isNoted) await engine.write('noteLog', outcome, { waitForever: true });
  return isEmpty;
}

export async function readCopies(engine: Engine): Promise<CopiesState | undefined> {
  const values = new Map((await engine.read(findState)).map(({ name, value }) => [name, value]));
  const waiting_since = earliest(parse(values.get(names.file))?.since, parse(values.get(names.log))?.since);
  const removed = values.get(names.removed);
  if (waiting_since === null && removed === undefined) return undefined;
  return { waiting_since, cleaned_at: removed === undefined ? null : Number(removed) };
}

export async function whereCopiesAre(engine: Engine, isClean: boolean): Promise<ErasedCopies[]> {
  const [replicator] = await engine.read(findReplicator);
  return [...(isClean ? [] : (['files'] as const)), ...(replicator === undefined ? [] : (['replica'] as const))];
}
