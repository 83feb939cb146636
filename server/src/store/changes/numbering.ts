import type { ChangeKind } from '../../contract/change.ts';
import { limits } from '../../contract/limits.ts';
import type { Dialect, Row } from '../engine.ts';
import type { Note } from './notes.ts';

/**
 * Numbers committed notes: moves them to `changes`, with the next positions. The caller does it in one transaction that has
 * locked the head first. So a note is numbered once, and a reader that sees a head sees all entries up to it.
 */

export const findHead = `SELECT epoch, position FROM changes_head WHERE name = 'head'`;
export const findNotes = `SELECT id, scope, at, notes FROM changes_new ORDER BY id LIMIT ${limits.changesBatchMax}`;
/** Parameters: position. */
export const moveHead = `UPDATE changes_head SET position = ? WHERE name = 'head'`;
/** Parameters: epoch. */
export const setEpoch = `UPDATE changes_head SET epoch = ? WHERE name = 'head'`;
export const countNotes = 'SELECT COUNT(*) AS n, MIN(at) AS oldest FROM changes_new';
export const findAnyNote = 'SELECT id FROM changes_new LIMIT 1';

export const changeColumns = ['kind', 'scope', 'id', 'position', 'at', 'workspace_id', 'owner'] as const;
export type Entry = {
  kind: ChangeKind;
  scope: string;
  id: string;
  position: number;
  at: number;
  workspace_id: string;
  owner: string | null;
};

/** A record that was written again moves to its new position. */
export const onKnownRecord = `
  ON CONFLICT (kind, scope, id) DO UPDATE SET position = excluded.position, at = excluded.at`;

type NotedRecord = { kind: ChangeKind; scope: string; id: string; at: number; owner: string | null };

/** The records of some notes, each once, and the ids of these notes. All if they are few, else the first ones. */
export function expandNotes(rows: readonly Row[]): { records: NotedRecord[]; noteIds: string[]; scopes: string[] } {
  const records = new Map<string, NotedRecord>();
  const noteIds: string[] = [];
  const scopes: string[] = [];
  for (const row of rows) {
    if (records.size >= limits.changesBatchMax) break;
    noteIds.push(row.id as string);
    scopes.push(row.scope as string);
    for (const [kind, scope, owner, ids] of JSON.parse(row.notes as string) as Note[]) {
      for (const id of ids) {
        const key = `${kind} ${scope} ${id}`;
        // The last change of a record decides on its place.
        records.delete(key);
        records.set(key, { kind, scope, id, at: row.at as number, owner });
      }
    }
  }
  return { records: [...records.values()], noteIds, scopes };
}

/** Parameters: a list of ids. */
export const ownerStatements = ({ isIn }: Dialect) => ({
  conversations: `SELECT conversation_id AS id, app_id AS owner FROM conversations WHERE ${isIn('conversation_id')}`,
  apps: `SELECT id, workspace_id AS owner FROM apps WHERE ${isIn('id')}`,
  datasets: `SELECT id, workspace_id AS owner FROM datasets WHERE ${isIn('id')}`,
});

type Owners = ReadonlyMap<string, string>;
export const ownersOf = (rows: readonly Row[]): Owners =>
  new Map(rows.map(({ id, owner }) => [id as string, owner as string]));

const unique = (texts: readonly (string | null | undefined)[]): string[] => [
  ...new Set(texts.filter((text) => typeof text === 'string')),
];

/** More notes than were read, or than were expanded, may be left. */
export const mayHaveMore = (rows: readonly Row[], noteIds: readonly string[]): boolean =>
  noteIds.length < rows.length || rows.length === limits.changesBatchMax;

/** The ids of which the entries need the owners: conversations first, since their apps are needed too. */
export const conversationsOf = (records: readonly NotedRecord[]): string[] =>
  unique(records.map(({ kind, scope, id }) => (kind === 'message' ? scope : kind === 'conversation' ? id : null)));
export const appsOf = (records: readonly NotedRecord[], appOfConversation: Owners): string[] =>
  unique([
    ...records.map(({ kind, owner }) => (kind === 'app' || kind === 'conversation' ? owner : null)),
    ...appOfConversation.values(),
  ]);
export const datasetsOf = (records: readonly NotedRecord[]): string[] => unique(records.map(datasetOf));

const inDataset: readonly ChangeKind[] = ['document', 'segment', 'child_chunk'];

const datasetOf = ({ kind, scope, owner }: NotedRecord): string | null => {
  if (kind === 'dataset') return owner;
  return inDataset.includes(kind) ? scope : null;
};

/** Entries from the next position on. A message whose conversation was erased has none: the conversation has one. */
export function entriesOf(
  records: readonly NotedRecord[],
  head: number,
  owners: { appOfConversation: Owners; workspaceOf: Owners },
): Entry[] {
  let position = head;
  return records.flatMap((record) => {
    const { kind, scope, id, at } = record;
    const owner = (kind === 'message' ? owners.appOfConversation.get(scope) : datasetOf(record)) ?? record.owner;
    const workspace_id =
      kind === 'workspace' ? id : kind === 'model_provider' ? scope : owners.workspaceOf.get(owner ?? '');
    if (workspace_id === undefined) return [];
    position += 1;
    return [{ kind, scope, id, position, at, workspace_id, owner }];
  });
}
