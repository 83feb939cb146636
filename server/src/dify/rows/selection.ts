import type { DifySource, ImportOptions, Reading } from '../source.ts';

/** The parameters of one statement. */
export class Parameters {
  readonly values: unknown[] = [];

  /** Adds a value and returns its placeholder. */
  bind(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

/**
 * The rows that are imported, whatever their state is, as a FROM clause with the parents of a row, and a condition. The aliases of tables are those of
 * the keys: `c` in `c.id`. Rows without a parent are orphans, and not selected.
 */
const workspaces = 'tenants t';
const apps = 'apps a JOIN tenants t ON t.id = a.tenant_id';
const conversations = 'conversations c JOIN apps a ON a.id = c.app_id JOIN tenants t ON t.id = a.tenant_id';
const messages = `messages m JOIN conversations c ON c.id = m.conversation_id JOIN apps a ON a.id = c.app_id
  JOIN tenants t ON t.id = a.tenant_id`;
const datasets = 'datasets s JOIN tenants t ON t.id = s.tenant_id';
const documents = `documents d JOIN datasets s ON s.id = d.dataset_id JOIN tenants t ON t.id = s.tenant_id`;
const segments = `document_segments g JOIN documents d ON d.id = g.document_id JOIN datasets s ON s.id = d.dataset_id
  JOIN tenants t ON t.id = s.tenant_id`;
const child_chunks = `child_chunks h JOIN document_segments g ON g.id = h.segment_id
  JOIN documents d ON d.id = g.document_id JOIN datasets s ON s.id = d.dataset_id JOIN tenants t ON t.id = s.tenant_id`;

export const tables = { workspaces, apps, conversations, messages, datasets, documents, segments, child_chunks };
export type SelectedTable = keyof typeof tables;
const idColumns: Readonly<Record<SelectedTable, string>> = {
  workspaces: 't.id',
  apps: 'a.id',
  conversations: 'c.id',
  messages: 'm.id',
  datasets: 's.id',
  documents: 'd.id',
  segments: 'g.id',
  child_chunks: 'h.id',
};

type Rows = {
  /** Only rows with these ids. */
  ids?: readonly string[];
  /** Only rows of these datasets. */
  datasets?: readonly string[];
  /** Only rows after this id. */
  after?: string;
  limit?: number;
  joins?: string;
};

/** Reads selected rows in the order of their ids. */
export function readRows<R>(
  { source, options }: Pick<Reading, 'source' | 'options'>,
  table: SelectedTable,
  selected: string,
  { ids, datasets, after = '', limit, joins = '' }: Rows = {},
): Promise<R[]> {
  const parameters = new Parameters();
  const id = idColumns[table];
  const conditions = [
    ...(ids === undefined ? [] : [`${id} = ANY(${parameters.bind(ids)}::uuid[])`]),
    ...(datasets === undefined ? [] : [`s.id = ANY(${parameters.bind(datasets)}::uuid[])`]),
    ...isAfter(table, after, parameters),
    conditionOf(table, options, parameters),
  ];
  const page = `ORDER BY ${id} ${limit === undefined ? '' : `LIMIT ${limit}`}`;
  return source.query<R>(
    `SELECT ${selected} FROM ${tables[table]} ${joins} WHERE ${conditions.join(' AND ')} ${page}`,
    parameters.values,
  );
}

/** The condition for rows after an id; none if it is empty. */
export const isAfter = (table: SelectedTable, after: string, parameters: Parameters): string[] =>
  after === '' ? [] : [`${idColumns[table]} > ${parameters.bind(after)}::uuid`];

export async function readIds(
  reading: Pick<Reading, 'source' | 'options'>,
  table: SelectedTable,
  rows: Rows,
): Promise<string[]> {
  return (await readRows<{ id: string }>(reading, table, `${idColumns[table]} AS id`, rows)).map(({ id }) => id);
}

/** The condition for the FROM clause in `tables`. */
export function conditionOf(table: SelectedTable, options: ImportOptions, parameters: Parameters): string {
  const conditions = conditionsOf(table, options, parameters);
  return conditions.length === 0 ? 'true' : conditions.join(' AND ');
}

function conditionsOf(table: SelectedTable, options: ImportOptions, parameters: Parameters): string[] {
  const { workspaceIds, appIds, since } = options;
  const isOneOf = (column: string, ids: readonly string[]) =>
    `${column}::text = ANY(${parameters.bind(ids.map((id) => id.toLowerCase()))})`;
  const ofWorkspace = () => (workspaceIds === undefined ? [] : [isOneOf('t.id', workspaceIds)]);
  switch (table) {
    case 'workspaces':
      return [
        ...ofWorkspace(),
        ...(appIds === undefined ? [] : [`t.id IN (SELECT tenant_id FROM apps WHERE ${isOneOf('id', appIds)})`]),
      ];
    case 'apps':
      return [...ofWorkspace(), ...(appIds === undefined ? [] : [isOneOf('a.id', appIds)])];
    case 'messages':
    case 'conversations': {
      const conditions = conditionsOf('apps', { ...options, workspaceIds }, parameters);
      // Test chats of the console have this source: they must not become readable for the users of the app.
      if (!options.console) conditions.push("c.from_source = 'api'");
      if (since !== undefined) {
        const time = `to_timestamp(${parameters.bind(since)}::float8) AT TIME ZONE 'UTC'`;
        conditions.push(`(c.created_at >= ${time} OR c.updated_at >= ${time})`);
      }
      return conditions;
    }
    case 'datasets':
      return appIds === undefined ? ofWorkspace() : ['false'];
    case 'documents':
    case 'segments':
    case 'child_chunks':
      return conditionsOf('datasets', options, parameters);
  }
}

/** Whole seconds since 1970. The source stores times in UTC, without a zone. */
export const epoch = (column: string): string => `floor(extract(epoch FROM ${column}))::float8`;

/** Columns of a table, null for those that this version of the source does not have. */
export function columns(source: DifySource, table: string, alias: string, names: readonly string[]): string {
  return names.map((name) => `${source.has(table, name) ? `${alias}.${name}` : 'NULL'} AS ${name}`).join(', ');
}
