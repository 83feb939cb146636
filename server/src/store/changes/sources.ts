import type { ChangeKind } from '../../contract/change.ts';
import type { ChangePosition } from '../../domain/store/change-reads.ts';
import type { Dialect, ExportStep } from '../base/engine.ts';
import { type Reading, sizedColumns } from '../base/sized.ts';
import type { Row, Statement } from '../base/statement.ts';
import { exportSteps } from '../tables/export.ts';
import type { FeedEntry } from './sequencing.ts';

/** The tables and keys of each kind of record in the change feed. */

/** A changed record that a reader may see, before its text is read. */
export type Candidate = Omit<FeedEntry, 'position'> & { place: ChangePosition };

export type Source = {
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

export function sourceOf(kind: ChangeKind): Source {
  const step = exportSteps.find((candidate) => candidate.kind === kind);
  if (step === undefined) throw new Error(`an export has no ${kind}`);
  return { step, ...columns[kind] };
}

const identity = ({ id, scope }: Source): string => `${id} AS change_id, ${scope ?? `''`} AS change_scope`;

/** A record with the columns of its kind: a segment has a document, a child chunk has a segment. */
export type RecordRow = Row & {
  change_id: string;
  change_scope: string;
  is_gone: number;
  bytes: number;
  app_id?: string;
  document_id?: string;
  segment_id?: string;
};

/** Records by their ids, with the size of their texts. Parameters: the ids, as pairs with the scope if the kind has one. */
export function recordsStatement(source: Source, texts: Reading, { isIn, isPair }: Dialect): Statement<RecordRow> {
  const { step, id, scope, gone } = source;
  return `
    SELECT ${identity(source)}, ${gone === undefined ? '0' : `CASE WHEN ${gone} THEN 1 ELSE 0 END`} AS is_gone,
      ${sizedColumns(step, texts)}
    FROM ${step.table} WHERE ${scope === undefined ? isIn(id) : isPair(scope, id)}`;
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

/** Identifies a record among those of its kind. */
export const recordKeyOf = ({ scope, id }: Pick<FeedEntry, 'scope' | 'id'>): string => `${scope} ${id}`;
export const keyOfRow = (row: RecordRow): string => `${row.change_scope} ${row.change_id}`;

/** A conversation, or a segment. */
export type ParentRow = { id: string; app_id?: string; user?: string | null; deleted?: number; document_id?: string };

/** Parameters: a list of ids. */
export const findConversations = ({ isIn }: Dialect): Statement<ParentRow> => `
  SELECT conversation_id AS id, app_id, "user", deleted FROM conversations WHERE ${isIn('conversation_id')}`;
/** Parameters: pairs of a dataset id and an id. */
export const findSegments = ({ isPair }: Dialect): Statement<ParentRow> => `
  SELECT id, document_id FROM segments WHERE ${isPair('dataset_id', 'id')}`;
