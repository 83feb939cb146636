import { type ChangeKind, changeKinds } from '../../contract/change.ts';
import type { ChangePosition, FoundChange } from '../../domain/store/change-reads.ts';
import { markOf } from '../base/distribution.ts';
import type { Dialect, ExportStep, ReadEngine } from '../base/engine.ts';
import { isLarge, type Reading, sizedColumns } from '../base/sized.ts';
import type { Row, Statement, Value } from '../base/statement.ts';
import { stepOf } from '../tables/export.ts';
import { isInConversation } from './outbox.ts';
import type { FeedEntry } from './sequencing.ts';

/** The records of the change feed: the tables and keys of each kind, and their current state. */

/** A changed record that a reader may see, before its text is read. */
export type Candidate = Omit<FeedEntry, 'position'> & { place: ChangePosition };

type Source = {
  step: ExportStep;
  /** The columns of the id and of the scope, as in `changes`. */
  id: string;
  scope: string | undefined;
  /** The column with the app or dataset that a record belongs to; undefined for messages, whose conversation has it. */
  owner: string | undefined;
  /** A condition for records that exist but are gone for readers of the feed. */
  gone: string | undefined;
};

const columns: Record<ChangeKind, Omit<Source, 'step'>> = {
  workspace: { id: 'id', scope: undefined, owner: undefined, gone: undefined },
  app: { id: 'id', scope: undefined, owner: 'id', gone: undefined },
  dataset: { id: 'id', scope: undefined, owner: 'id', gone: undefined },
  model_provider: { id: 'provider', scope: 'workspace_id', owner: undefined, gone: undefined },
  document: { id: 'id', scope: 'dataset_id', owner: 'dataset_id', gone: undefined },
  segment: { id: 'id', scope: 'dataset_id', owner: 'dataset_id', gone: undefined },
  child_chunk: { id: 'id', scope: 'dataset_id', owner: 'dataset_id', gone: 'deleted = 1' },
  conversation: { id: 'conversation_id', scope: undefined, owner: 'app_id', gone: 'deleted = 1' },
  message: { id: 'id', scope: 'conversation_id', owner: undefined, gone: undefined },
  review: { id: 'message_id', scope: 'conversation_id', owner: 'app_id', gone: undefined },
};

export const sourceOf = (kind: ChangeKind): Source => ({ step: stepOf(kind), ...columns[kind] });

const identity = ({ id, scope }: Source): string => `${id} AS change_id, ${scope ?? `''`} AS change_scope`;

/** A record with the columns of its kind: a segment has a document, a child chunk has a segment. */
type RecordRow = Row & {
  change_id: string;
  change_scope: string;
  is_gone: number;
  bytes: number;
  app_id?: string;
  document_id?: string;
  segment_id?: string;
};

/** Records by their ids, with the size of their texts. Parameters: the ids, as pairs with the scope if the kind has one. */
function recordsStatement(source: Source, texts: Reading, { isIn, isPair }: Dialect): Statement<RecordRow> {
  const { step, id, scope, gone } = source;
  return `
    SELECT ${identity(source)}, ${gone === undefined ? '0' : `CASE WHEN ${gone} THEN 1 ELSE 0 END`} AS is_gone,
      ${sizedColumns(step, texts)}
    FROM ${step.table} WHERE ${scope === undefined ? isIn(id) : isPair(scope, id)}${markOf(step.table, scope ?? id)}`;
}

/** `key_0` and so on are the parts of the record's key. */
export type KeyRow = {
  change_id: string;
  change_scope: string;
  change_owner: string | null;
  key_0: string | number;
  key_1?: string | number;
  key_2?: string | number;
};

/** The ids of records in the order of their key, without their texts. Parameters: the key of the last one, if any, and a count. */
export function keysStatement(source: Source, isFirst: boolean): Statement<KeyRow> {
  const { step, owner, gone } = source;
  const { key, table } = step;
  const after = `(${key.join(', ')}) > (${key.map(() => '?').join(', ')})`;
  const conditions = [...(isFirst ? [] : [after]), ...(gone === undefined ? [] : [`NOT (${gone})`])];
  return `
    SELECT ${identity(source)}, ${owner ?? 'NULL'} AS change_owner, ${key.map((column, at) => `${column} AS key_${at}`).join(', ')}
    FROM ${table} ${conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`}
    ORDER BY ${key.join(', ')} LIMIT ?`;
}

const recordKeyOf = ({ scope, id }: Pick<FeedEntry, 'scope' | 'id'>): string => `${scope} ${id}`;
const keyOfRow = (row: RecordRow): string => `${row.change_scope} ${row.change_id}`;

/** A conversation, or a segment. */
type ParentRow = { id: string; app_id?: string; user?: string | null; deleted?: number; document_id?: string };

/** Parameters: a list of ids. */
const findConversations = ({ isIn }: Dialect): Statement<ParentRow> => `
  SELECT conversation_id AS id, app_id, "user", deleted FROM conversations WHERE ${isIn('conversation_id')}/*@*/`;
/** Parameters: pairs of a dataset id and an id. */
const findSegments = ({ isPair }: Dialect): Statement<ParentRow> => `
  SELECT id, document_id FROM segments WHERE ${isPair('dataset_id', 'id')}/*@*/`;

type Records = ReadonlyMap<string, RecordRow>;
type Parents = ReadonlyMap<string, ParentRow>;

/** `isLarge`: its line was left out because it is large. */
export type ReadChange = FoundChange & { bytes: number; isLarge: boolean };

/**
 * The current state of changed records, in the order of the candidates: one statement for each kind, and one for the paths of each
 * kind that needs it. Undefined for a message or review of a deleted conversation: if that is undeleted, it is listed again.
 */
export async function readRecords(
  engine: ReadEngine,
  candidates: readonly Candidate[],
  texts: Reading,
): Promise<(ReadChange | undefined)[]> {
  const found = new Map<Candidate, ReadChange>();
  // Conversations first: a message must not be listed after its conversation that was deleted meanwhile.
  for (const kind of changeKinds) {
    const ofKind = candidates.filter((candidate) => candidate.kind === kind);
    if (ofKind.length > 0) await readKind(engine, kind, ofKind, texts, found);
  }
  return candidates.map((candidate) => found.get(candidate));
}

async function readKind(
  engine: ReadEngine,
  kind: ChangeKind,
  candidates: readonly Candidate[],
  texts: Reading,
  found: Map<Candidate, ReadChange>,
): Promise<void> {
  const { dialect } = engine;
  const source = sourceOf(kind);
  const keys: Value[] =
    source.scope === undefined
      ? [dialect.list(candidates.map(({ id }) => id))]
      : dialect.pairs(candidates.map(({ scope, id }) => [scope, id]));
  const records = await engine.read(recordsStatement(source, texts, dialect), ...keys);
  const rows: Records = new Map(records.map((row) => [keyOfRow(row), row]));
  const parents = await findParents(engine, kind, candidates, rows);
  for (const candidate of candidates) {
    const row = rows.get(recordKeyOf(candidate));
    // One that does not exist is gone: nothing would list it again.
    if (isInConversation(kind) && row !== undefined && parents.get(candidate.scope)?.deleted !== 0) continue;
    const gone = row === undefined || row.is_gone === 1;
    const bytes = gone ? 0 : Number(row.bytes ?? 0);
    const isTooLarge = texts === 'small' && isLarge({ bytes });
    const line = gone || isTooLarge || texts === 'none' ? undefined : source.step.line(row);
    const path = pathOf(candidate, row, parents);
    const { id, at: time, place: at } = candidate;
    found.set(candidate, { at, kind, id, time, path, gone, line, bytes, isLarge: isTooLarge });
  }
}

/** Conversations of messages and reviews by id, segments of child chunks by id. */
async function findParents(
  { dialect, read }: ReadEngine,
  kind: ChangeKind,
  candidates: readonly Candidate[],
  rows: Records,
): Promise<Parents> {
  const byId = (list: readonly ParentRow[]): Parents => new Map(list.map((row) => [row.id, row]));
  if (isInConversation(kind)) {
    const ids = dialect.list([...new Set(candidates.map(({ scope }) => scope))]);
    return byId(await read(findConversations(dialect), ids));
  }
  if (kind !== 'child_chunk') return new Map();
  const segments = new Map([...rows.values()].map(({ change_scope, segment_id = '' }) => [segment_id, change_scope]));
  const keys = dialect.pairs([...segments].map(([segment_id, dataset_id]) => [dataset_id, segment_id]));
  return byId(await read(findSegments(dialect), ...keys));
}

function pathOf(
  { kind, scope, id, workspace_id, owner }: Candidate,
  row: RecordRow | undefined,
  parents: Parents,
): Record<string, string | null> {
  switch (kind) {
    case 'document':
      return { workspace_id, dataset_id: scope };
    case 'segment':
      return { workspace_id, dataset_id: scope, document_id: row?.document_id ?? null };
    case 'child_chunk': {
      const segment_id = row?.segment_id ?? null;
      const document_id = parents.get(segment_id ?? '')?.document_id ?? null;
      return { workspace_id, dataset_id: scope, document_id, segment_id };
    }
    case 'conversation':
      return { workspace_id, app_id: row?.app_id ?? owner };
    case 'message':
    case 'review': {
      const { app_id = owner, user = null } = parents.get(scope) ?? {};
      return { workspace_id, app_id, conversation_id: scope, user, ...(kind === 'review' && { message_id: id }) };
    }
    default:
      return kind === 'workspace' ? {} : { workspace_id };
  }
}
