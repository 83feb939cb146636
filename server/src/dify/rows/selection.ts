import type { DifySource, ImportOptions, PartRow, Reading } from '../source.ts';

export class Parameters {
  readonly values: unknown[] = [];

  bind(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

/**
 * The rows that are imported, whatever their state is, as a FROM clause with the parents of a row, and a condition. The aliases of tables are those of
 * the keys: `c` in `c.id`. Rows without a parent are orphans, and not selected.
 */
const ofApp = 'JOIN apps a ON a.id = c.app_id JOIN tenants t ON t.id = a.tenant_id';
const ofDataset = 'JOIN datasets s ON s.id = d.dataset_id JOIN tenants t ON t.id = s.tenant_id';
const ofDocument = `JOIN documents d ON d.id = g.document_id ${ofDataset}`;
export const selectedFrom = {
  workspace: 'tenants t',
  app: 'apps a JOIN tenants t ON t.id = a.tenant_id',
  conversation: `conversations c ${ofApp}`,
  message: `messages m JOIN conversations c ON c.id = m.conversation_id ${ofApp}`,
  dataset: 'datasets s JOIN tenants t ON t.id = s.tenant_id',
  document: `documents d ${ofDataset}`,
  segment: `document_segments g ${ofDocument}`,
  child_chunk: `child_chunks h JOIN document_segments g ON g.id = h.segment_id ${ofDocument}`,
};
export type SelectedKind = keyof typeof selectedFrom;

/** The column with the ids of a kind: its table is the first one. */
const idColumn = (kind: SelectedKind): string => `${selectedFrom[kind].split(' ')[1]}.id`;

type Rows = {
  ids?: readonly string[];
  datasets?: readonly string[];
  after?: string;
  limit?: number;
  joins?: string;
};

/** Reads selected rows in the order of their ids. */
export function readRows<R>(
  { source, options }: Pick<Reading, 'source' | 'options'>,
  kind: SelectedKind,
  selected: string,
  { ids, datasets, after = '', limit, joins = '' }: Rows = {},
): Promise<R[]> {
  const parameters = new Parameters();
  const id = idColumn(kind);
  const conditions = [
    ...(ids === undefined ? [] : [`${id} = ANY(${parameters.bind(ids)}::uuid[])`]),
    ...(datasets === undefined ? [] : [`s.id = ANY(${parameters.bind(datasets)}::uuid[])`]),
    ...isAfter(kind, after, parameters),
    conditionOf(kind, options, parameters),
  ];
  const page = `ORDER BY ${id} ${limit === undefined ? '' : `LIMIT ${limit}`}`;
  return source.query<R>(
    `SELECT ${selected} FROM ${selectedFrom[kind]} ${joins} WHERE ${conditions.join(' AND ')} ${page}`,
    parameters.values,
  );
}

/** The condition for rows after an id; none if it is empty. */
export const isAfter = (kind: SelectedKind, after: string, parameters: Parameters): string[] =>
  after === '' ? [] : [`${idColumn(kind)} > ${parameters.bind(after)}::uuid`];

export async function readIds(
  reading: Pick<Reading, 'source' | 'options'>,
  kind: SelectedKind,
  rows: Rows,
): Promise<string[]> {
  return (await readRows<{ id: string }>(reading, kind, `${idColumn(kind)} AS id`, rows)).map(({ id }) => id);
}

/** The condition for the FROM clause in `selectedFrom`. */
export function conditionOf(kind: SelectedKind, options: ImportOptions, parameters: Parameters): string {
  const { workspaceIds, appIds, since } = options;
  const isOneOf = (column: string, ids: readonly string[]) =>
    `${column}::text = ANY(${parameters.bind(ids.map((id) => id.toLowerCase()))})`;
  const conditions = ['true'];
  if (workspaceIds !== undefined) conditions.push(isOneOf('t.id', workspaceIds));
  if (appIds !== undefined) {
    if (kind === 'workspace') conditions.push(`t.id IN (SELECT tenant_id FROM apps WHERE ${isOneOf('id', appIds)})`);
    else conditions.push(selectedFrom[kind].includes('apps a') ? isOneOf('a.id', appIds) : 'false');
  }
  if (kind === 'conversation' || kind === 'message') {
    // Test chats of the console have another source: they must not become readable for the users of the app.
    if (!options.console) conditions.push("c.from_source = 'api'");
    if (since !== undefined) {
      const time = `to_timestamp(${parameters.bind(since)}::float8) AT TIME ZONE 'UTC'`;
      conditions.push(`(c.created_at >= ${time} OR c.updated_at >= ${time})`);
    }
  }
  return conditions.join(' AND ');
}

/** JSON is parsed by the importer. */
export const text = (column: string): string => `${column}::text`;

/** Columns of a table as `read` reads them, null for those that this version of the source does not have. */
export function columns(
  source: DifySource,
  table: string,
  alias: string,
  names: readonly string[],
  read = (column: string) => column,
): string {
  const cell = (name: string) => (source.has(table, name) ? read(`${alias}.${name}`) : 'NULL');
  return names.map((name) => `${cell(name)} AS ${name}`).join(', ');
}

/** Rows of a table with parts, by message: one statement for all messages. None if the source has not all of these tables. */
export async function readParts<R extends PartRow>(
  source: DifySource,
  tables: readonly string[],
  sql: string,
  messageIds: readonly string[],
): Promise<ReadonlyMap<string, readonly R[]>> {
  const isPresent = messageIds.length > 0 && tables.every((table) => source.has(table));
  const rows = isPresent ? await source.query<R>(sql, [messageIds]) : [];
  return Map.groupBy(rows, ({ message_id }) => message_id);
}
