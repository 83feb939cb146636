import { now, type RecordKind, records } from '../../contract/record.ts';
import { displayStatusOf } from '../../domain/records/display-status.ts';
import { newVersion } from '../../domain/version.ts';
import type { Row, Scalar } from '../base/statement.ts';
import { updatedAt } from './conversation-columns.ts';

/** A table with a row for each record and a column for each field. */
type RowTable = {
  name: string;
  key: readonly string[];
  /** The column of the record's `id`, if it has another name. */
  idColumn?: string;
  /** The columns of other fields that have another name. */
  columns?: Readonly<Record<string, string>>;
  /** Columns that are not fields of the record. */
  added?: readonly Column[];
  /** Columns that do not change when a record is written again. */
  unchanged?: readonly string[];
  /**
   * Fields with a column; by default all. The others are only displayed: they are stored together, as JSON in the column `details`,
   * without default values.
   */
  columnFields?: readonly string[];
  /** Columns that depend on others, when a record is written again. `value` returns the new value of a column. */
  computed?: Readonly<Record<string, (value: (column: string) => string) => string>>;
};

/** A table whose column `doc` holds the JSON text of the record, without its kind. */
type DocumentTable = {
  name: string;
  order: readonly string[];
  /** Columns of fields that are not in `doc`. */
  extraColumns?: readonly string[];
  /** The same for lists, in JSON; null if they are empty. */
  jsonColumns?: readonly string[];
};

type DocumentKind = 'message' | 'model_provider';
export type RowKind = Exclude<RecordKind, DocumentKind>;

export type Column = {
  /** As in SQL, with quotes if it needs them. */
  name: string;
  type: 'text' | 'bigint' | 'float8';
  /** The field of the record; undefined for a column that is not exported. */
  field: string | undefined;
  /** From the record to the value of the column, and back. */
  write: (record: Row) => Scalar;
  read: (value: unknown) => unknown;
};

const identity = (value: unknown): unknown => value;
const internal = (name: string, type: Column['type'], write: Column['write']): Column => {
  return { name, type, field: undefined, write, read: identity };
};
const version = internal('version', 'text', newVersion);
const displayStatus = internal('display_status', 'text', (record) => displayStatusOf(record as never));
const inDataset = ['dataset_id', 'id'];
/** As `updatedAt` in store/tables/conversation-columns.ts, for a conversation without messages. */
const newUpdatedAt = internal('updated_at', 'bigint', ({ created_at, renamed_at, updated_at }) =>
  Math.max(...[created_at, renamed_at ?? created_at, updated_at ?? created_at].map(Number)),
);

/** The table is the kind. A secret is never stored. */
function fieldsOf(kind: RowKind): string[] {
  return Object.keys(records[kind].properties).filter((field) => field !== 'record' && field !== 'secret');
}

/** The table of each kind of record, in the order of an export: parents before children. */
export const tables: Readonly<Record<RowKind, RowTable> & Record<DocumentKind, DocumentTable>> = {
  workspace: { name: 'workspaces', key: ['id'] },
  app: { name: 'apps', key: ['id'], columnFields: ['id', 'workspace_id', 'name', 'mode', 'retention_days'] },
  dataset: { name: 'datasets', key: ['id'], columnFields: ['id', 'workspace_id', 'name', 'tags', 'created_at'] },
  api_key: { name: 'api_keys', key: ['id'] },
  person: { name: 'persons', key: ['id'] },
  model_provider: { name: 'model_providers', order: ['workspace_id', 'position'] },
  document: {
    name: 'documents',
    key: inDataset,
    // The counts of a document change with its segments.
    added: [displayStatus, internal('segment_count', 'bigint', () => 0), internal('word_count', 'bigint', () => 0)],
    unchanged: ['segment_count', 'word_count'],
    columnFields: ['id', 'dataset_id', 'name', 'position', 'created_at'],
  },
  segment: {
    name: 'segments',
    key: inDataset,
    added: [internal('word_count', 'bigint', (record) => record.word_count as number)],
    columnFields: ['id', 'document_id', 'position', 'content', 'status'],
  },
  child_chunk: {
    name: 'child_chunks',
    key: inDataset,
    added: [version],
    columnFields: fieldsOf('child_chunk').filter((field) => field !== 'index_node_id'),
  },
  child_chunk_revision: { name: 'child_chunk_revisions', key: ['dataset_id', 'child_chunk_id', 'revision'] },
  conversation: {
    name: 'conversations',
    key: ['conversation_id'],
    idColumn: 'conversation_id',
    columns: { updated_at: 'record_updated_at' },
    added: [version, internal('next_sequence', 'bigint', () => 1), newUpdatedAt],
    unchanged: ['next_sequence'],
    computed: {
      updated_at: (value) => {
        const stored = (column: string) => `conversations.${column}`;
        const newest = `CASE WHEN ${stored('first_message_at')} IS NOT NULL THEN ${stored('last_message_at')} END`;
        return updatedAt(value('created_at'), newest, value('renamed_at'), value('record_updated_at'));
      },
    },
  },
  message: {
    name: 'messages',
    order: ['conversation_id', 'created_at', 'sequence'],
    extraColumns: ['feedback_content', 'rated_at', 'model_provider', 'model', 'trace_id'],
    jsonColumns: ['items'],
  },
  review: {
    name: 'reviews',
    key: ['conversation_id', 'message_id'],
    // A request gets the version that it writes.
    added: [internal('version', 'text', ({ version }) => (typeof version === 'string' ? version : newVersion()))],
    columnFields: fieldsOf('review').filter((field) => !['note', 'expected_answer', 'history'].includes(field)),
  },
};

function displayOnly(kind: RowKind): string[] {
  const { columnFields } = tables[kind];
  return columnFields === undefined ? [] : fieldsOf(kind).filter((field) => !columnFields.includes(field));
}

/** The columns of a kind: one for each field of its schema, key columns that are not fields, and the added ones. */
export function columnsOf(kind: RowKind): readonly Column[] {
  const { key, idColumn = 'id', columns = {}, added = [], columnFields = fieldsOf(kind) } = tables[kind];
  const fields = Object.entries(records[kind].properties)
    .filter(([field]) => columnFields.includes(field))
    .map(([field, schema]) => fieldColumn(field, field === 'id' ? idColumn : (columns[field] ?? field), schema));
  const names = fields.map(({ name }) => name);
  const others = key
    .filter((name) => !names.includes(name))
    .map((name) => internal(name, 'text', (record) => record[name] as string));
  return [...fields, ...others, ...(displayOnly(kind).length > 0 ? [detailsColumn(kind)] : []), ...added];
}

/** The columns of a kind whose texts may be long. Ids and the names of kinds and states are short. */
export function textColumnsOf(kind: RecordKind): readonly string[] {
  if (kind === 'message' || kind === 'model_provider')
    return ['doc', ...(tables[kind].extraColumns ?? []), ...(tables[kind].jsonColumns ?? [])].filter(isText);
  return columnsOf(kind).flatMap(({ name, type, field }) =>
    type === 'text' && field !== undefined && isText(name) ? [name] : [],
  );
}

const isText = (column: string): boolean => !/(^|_)(id|at)$/.test(column);

/** Fields that have their default values are left out; if all have, the column is null. */
function detailsColumn(kind: RowKind): Column {
  const fields = displayOnly(kind);
  const defaults = displayDefaults(kind, fields);
  return {
    name: 'details',
    type: 'text',
    field: 'details',
    write: (record) => {
      const given = fields.filter((field) => JSON.stringify(record[field]) !== JSON.stringify(defaults[field]));
      return given.length === 0
        ? null
        : JSON.stringify(Object.fromEntries(given.map((field) => [field, record[field]])));
    },
    read: (value) => ({ ...defaults, ...(value === null ? {} : JSON.parse(value as string)) }),
  };
}

/** The time of a record that was written before its kind had the field is unknown: 0. */
function displayDefaults(kind: RowKind, fields: readonly string[]): Row {
  const schemas = records[kind].properties as Record<string, { default?: unknown }>;
  return Object.fromEntries(
    fields.map((field) => {
      const value = schemas[field]?.default;
      return [field, value === now ? 0 : value];
    }),
  );
}

const detailsReaders = new Map<RowKind, Column['read']>();

/** The fields in the column `details` of a row, with their defaults. */
export function detailsOf(kind: RowKind, details: unknown): Row {
  let read = detailsReaders.get(kind);
  if (read === undefined) detailsReaders.set(kind, (read = detailsColumn(kind).read));
  return read(details) as Row;
}

/** Booleans are stored as 0 and 1, lists and objects as JSON texts, everything else unchanged. */
function fieldColumn(field: string, column: string, schema: { type?: string | string[] }): Column {
  // `user` is a reserved word of SQL.
  const base = { name: column === 'user' ? '"user"' : column, field };
  const plain = { ...base, write: (record: Row) => (record[field] ?? null) as Scalar, read: identity };
  switch ([schema.type].flat()[0]) {
    case 'boolean':
      return { ...base, type: 'bigint', write: (record) => (record[field] ? 1 : 0), read: (value) => value === 1 };
    case 'array':
    case 'object':
      return {
        ...base,
        type: 'text',
        write: (record) => (record[field] === null ? null : JSON.stringify(record[field])),
        read: (value) => (value === null ? null : JSON.parse(value as string)),
      };
    case 'integer':
      return { ...plain, type: 'bigint' };
    case 'number':
      return { ...plain, type: 'float8' };
    default:
      return { ...plain, type: 'text' };
  }
}
