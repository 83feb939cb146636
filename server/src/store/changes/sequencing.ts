import type { ChangeKind } from '../../contract/change.ts';
import { limits } from '../../contract/limits.ts';
import { keysOf } from '../../contract/primitives.ts';
import type { ChangesHead } from '../../domain/store/change-reads.ts';
import type { Dialect, WriteContext, WriteResult } from '../base/engine.ts';
import {
  begin,
  execute,
  first,
  type OutboxEntry,
  query,
  run,
  type Statement,
  upsertInto,
  type Write,
  writeRows,
} from '../base/statement.ts';
import { isErasure, isInConversation, isOnSeveralShards } from './outbox.ts';

/**
 * Sequences committed outbox entries: moves them to `changes`, with the next positions, in one transaction that locks the
 * head first. So an entry is sequenced once, and a reader that sees a head sees all entries up to it.
 *
 * A distributed database commits on one node after another, in two phases. There, an entry is sequenced only when its
 * records are visible on every node: otherwise a reader would find them missing, and never read them again.
 */

export const findHead: Statement<ChangesHead> = `SELECT epoch, position FROM changes_head WHERE name = 'head'`;
type OutboxRow = { id: string; scope: string; at: number; entries: string };
const findOutbox: Statement<OutboxRow> = `SELECT id, scope, at, entries FROM change_outbox ORDER BY id LIMIT ${limits.changesBatchMax}`;
const moveHead = `UPDATE changes_head SET position = ? WHERE name = 'head'`;
export const setEpoch = `UPDATE changes_head SET epoch = ? WHERE name = 'head'`;
export const countOutbox: Statement<{ n: number; oldest: number | null }> =
  'SELECT COUNT(*) AS n, MIN(at) AS oldest FROM change_outbox';
export const findAnyOutboxEntry: Statement<{ id: string }> = 'SELECT id FROM change_outbox LIMIT 1';

export type FeedEntry = {
  kind: ChangeKind;
  scope: string;
  id: string;
  position: number;
  at: number;
  workspace_id: string;
  owner: string | null;
};

const entryColumns = {
  kind: 'text',
  scope: 'text',
  id: 'text',
  position: 'bigint',
  at: 'bigint',
  workspace_id: 'text',
  owner: 'text',
} as const satisfies Record<keyof FeedEntry, string>;
const entryFields = keysOf(entryColumns);
/** A record that was written again moves to its new position. A conversation may have been created again in another app. */
const writeEntries = upsertInto('changes', entryColumns, ['kind', 'scope', 'id']);

type OutboxRecord = { kind: ChangeKind; scope: string; id: string; at: number; owner: string | null };

const keyOf = ({ kind, scope, id }: OutboxRecord): string => `${kind} ${scope} ${id}`;

/** The records of some rows of the outbox, each once, and these rows. All if they are few, else the first ones. */
function expandOutbox(rows: readonly OutboxRow[]): { records: OutboxRecord[]; expanded: OutboxRow[] } {
  const records = new Map<string, OutboxRecord>();
  const expanded: OutboxRow[] = [];
  for (const row of rows) {
    if (records.size >= limits.changesBatchMax) break;
    expanded.push(row);
    const entries: OutboxEntry[] = JSON.parse(row.entries);
    for (const [kind, scope, owner, ids] of entries) {
      for (const id of ids) {
        const record = { kind, scope, id, at: row.at, owner };
        // The last change of a record decides on its place.
        records.delete(keyOf(record));
        records.set(keyOf(record), record);
      }
    }
  }
  return { records: [...records.values()], expanded };
}

/** Only one reader at a time sequences changes, since the head stays locked until the end; writers do not use the head. */
export function* sequenceChanges(_: undefined, { dialect }: WriteContext): Write<WriteResult<'sequenceChanges'>> {
  yield* begin();
  const lockHead: typeof findHead = dialect.lockRows('epoch, position', 'changes_head', `name = 'head'`, 'epoch');
  const { position } = (yield* first(lockHead)) ?? noHead();
  // Read after the lock was taken: each statement sees what was committed before it.
  const rows = yield* query(findOutbox);
  if (rows.length === 0) return false;
  const { records, expanded } = expandOutbox(rows);
  const { unfinished } = dialect;
  const isChecked = unfinished !== undefined && expanded.some(isOnSeveralShards);
  if (isChecked && !(yield* areFinished(unfinished))) return false;
  let owners = yield* findOwners(records, dialect);
  if (unfinished !== undefined && !isChecked && hasUnknownOwner(records, owners)) {
    if (!(yield* areFinished(unfinished))) return false;
    owners = yield* findOwners(records, dialect);
  }
  const { erased } = owners;
  if (erased.length > 0) {
    const list = dialect.list(erased);
    yield* execute(`DELETE FROM changes WHERE kind IN ('message', 'review') AND ${dialect.isIn('scope')}`, list);
    yield* execute(`DELETE FROM changes WHERE kind = 'conversation' AND scope = '' AND ${dialect.isIn('id')}`, list);
  }
  const entries = entriesOf(yield* withCreatedAgain(records, owners, dialect), position, owners);
  yield* writeRows(
    writeEntries,
    entries.map((entry) => entryFields.map((field) => entry[field])),
  );
  if (entries.length > 0) yield* execute(moveHead, position + entries.length);
  const deleteOutbox = `DELETE FROM change_outbox WHERE ${dialect.isPair('scope', 'id')}/*@*/`;
  yield* execute(deleteOutbox, ...dialect.pairs(expanded.map(({ scope, id }) => [scope, id])));
  return expanded.length < rows.length || rows.length === limits.changesBatchMax;
}

/**
 * Erasures come first, and what exists again of their conversations after them: readers remove the conversation with its messages.
 * What is created later has a later position.
 */
function* withCreatedAgain(
  records: readonly OutboxRecord[],
  { appOfConversation }: Owners,
  { isIn, list }: Dialect,
): Write<readonly OutboxRecord[]> {
  const erasures = records.filter(isErasure);
  const again = new Map(erasures.filter(({ id }) => appOfConversation.has(id)).map((erasure) => [erasure.id, erasure]));
  if (again.size === 0) return records;
  const ordered = [...erasures, ...[...again.values()].map((erasure) => ({ ...erasure, scope: '' }))];
  const findMessages: Statement<{ conversation_id: string; id: string }> =
    `SELECT conversation_id, id FROM messages WHERE ${isIn('conversation_id')}/*@*/`;
  for (const { conversation_id: scope, id } of yield* query(findMessages, list([...again.keys()]))) {
    ordered.push({ kind: 'message', scope, id, at: again.get(scope)?.at ?? 0, owner: null });
  }
  return [...new Map([...ordered, ...records].map((record) => [keyOf(record), record])).values()];
}

/** An interrupted commit delays the feed: the outbox entries stay, and the next reader looks again. */
const finishChecks = 5;

/**
 * Whether all transactions have finished that some node had prepared at the start. Every node has prepared a transaction
 * before the first one commits it, so these include all that were visible on a node by then. Later ones do not matter.
 */
function* areFinished({ find, pause }: NonNullable<Dialect['unfinished']>): Write<boolean> {
  const findIds = function* (): Write<string[]> {
    return (yield* query(find)).map(({ id }) => id);
  };
  let open = yield* findIds();
  for (let check = 1; open.length > 0; check += 1) {
    if (check === finishChecks) return false;
    yield* query(pause);
    const found = new Set(yield* findIds());
    open = open.filter((id) => found.has(id));
  }
  return true;
}

export const startEpoch = ({ epoch }: { epoch: string }): Write<undefined> => run(setEpoch, epoch);

export function noHead(): never {
  throw new Error('the change feed has no head');
}

type Owner = { id: string; owner: string };
export type FindOwners = Statement<Owner>;

/** Parameters: a list of ids. */
export const ownerStatements = ({ isIn }: Dialect): Record<'conversations' | 'apps' | 'datasets', FindOwners> => ({
  conversations: `SELECT conversation_id AS id, app_id AS owner FROM conversations WHERE ${isIn('conversation_id')}/*@*/`,
  apps: `SELECT id, workspace_id AS owner FROM apps WHERE ${isIn('id')}`,
  datasets: `SELECT id, workspace_id AS owner FROM datasets WHERE ${isIn('id')}`,
});

type OwnerOf = ReadonlyMap<string, string>;
export const ownersOf = (rows: readonly Owner[]): OwnerOf => new Map(rows.map(({ id, owner }) => [id, owner]));

/** Undefined if the app or dataset does not exist. */
export function workspaceIdOf(
  { kind, scope, id, owner }: Omit<OutboxRecord, 'at'>,
  workspaceOf: OwnerOf,
): string | undefined {
  if (kind === 'workspace') return id;
  return kind === 'model_provider' ? scope : workspaceOf.get(owner ?? '');
}

/** `workspaceOf`: by app or dataset. `erased`: conversations that do not exist. */
type Owners = { appOfConversation: OwnerOf; workspaceOf: OwnerOf; erased: readonly string[] };

function* findOwners(records: readonly OutboxRecord[], dialect: Dialect): Write<Owners> {
  const statements = ownerStatements(dialect);
  const find = function* (statement: FindOwners, ids: string[]): Write<OwnerOf> {
    return ownersOf(ids.length === 0 ? [] : yield* query(statement, dialect.list(ids)));
  };
  const conversations = conversationsOf(records);
  const appOfConversation = yield* find(statements.conversations, conversations);
  const workspaceOfApp = yield* find(statements.apps, appsOf(records, appOfConversation));
  const workspaceOfDataset = yield* find(statements.datasets, datasetsOf(records));
  const erased = conversations.filter((id) => !appOfConversation.has(id));
  return { appOfConversation, workspaceOf: new Map([...workspaceOfApp, ...workspaceOfDataset]), erased };
}

const hasUnknownOwner = (records: readonly OutboxRecord[], { appOfConversation, workspaceOf }: Owners): boolean =>
  [...appsOf(records, appOfConversation), ...datasetsOf(records)].some((id) => !workspaceOf.has(id));

const unique = (texts: readonly (string | null | undefined)[]): string[] => [
  ...new Set(texts.filter((text) => typeof text === 'string')),
];

/** The ids of which the entries need the owners: conversations first, since their apps are needed too. */
const conversationsOf = (records: readonly OutboxRecord[]): string[] =>
  unique(records.map(({ kind, scope, id }) => (isInConversation(kind) ? scope : kind === 'conversation' ? id : null)));
const appsOf = (records: readonly OutboxRecord[], appOfConversation: OwnerOf): string[] =>
  unique([
    ...records.map(({ kind, owner }) => (kind === 'app' || kind === 'conversation' ? owner : null)),
    ...appOfConversation.values(),
  ]);
const datasetsOf = (records: readonly OutboxRecord[]): string[] => unique(records.map(datasetOf));

const inDataset: readonly ChangeKind[] = ['document', 'segment', 'child_chunk'];

const datasetOf = ({ kind, scope, owner }: OutboxRecord): string | null => {
  if (kind === 'dataset') return owner;
  return inDataset.includes(kind) ? scope : null;
};

/** Entries from the next position on. A conversation that was erased and what is in it have none: the erasure has one. */
function entriesOf(records: readonly OutboxRecord[], head: number, owners: Owners): FeedEntry[] {
  let position = head;
  return records.flatMap((record) => {
    const { kind, scope, id, at } = record;
    const ownConversation = kind === 'conversation' && !isErasure(record) ? id : undefined;
    const conversation_id = isInConversation(kind) ? scope : ownConversation;
    const app_id = owners.appOfConversation.get(conversation_id ?? '');
    if (conversation_id !== undefined && app_id === undefined) return [];
    const owner = app_id ?? datasetOf(record) ?? record.owner;
    const workspace_id = workspaceIdOf({ ...record, owner }, owners.workspaceOf);
    if (workspace_id === undefined) return [];
    position += 1;
    return [{ kind, scope, id, position, at, workspace_id, owner }];
  });
}
