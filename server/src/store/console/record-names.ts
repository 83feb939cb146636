import type { RecordKind } from '../../contract/record.ts';
import type { RecordName } from '../../domain/store/audit.ts';
import type { ReadEngine } from '../base/engine.ts';
import { sorted } from '../base/selection.ts';

/** The ids of records in the audit log, and their names now. Names are shown, so their beginning is enough. */

type Named = { id: string; name: string; path: string[] };
type NameRow = {
  id: string;
  name: string;
  segment?: number;
  chunk?: number;
  first: string;
  second?: string;
  third?: string;
};

const ofTable = (table: string) => `SELECT id, ${sorted('name')} AS name, id AS first FROM ${table} WHERE`;

const segmentPlace = `
  segments s JOIN documents o ON o.dataset_id = s.dataset_id AND o.id = s.document_id`;

/** Each ends with the condition on the ids. */
const statements = {
  workspace: [ofTable('workspaces'), 'id'],
  app: [ofTable('apps'), 'id'],
  api_key: [ofTable('api_keys'), 'id'],
  person: [ofTable('persons'), 'id'],
  dataset: [ofTable('datasets'), 'id'],
  document: [`SELECT id, ${sorted('name')} AS name, dataset_id AS first FROM documents WHERE`, 'id'],
  segment: [
    `SELECT s.id, ${sorted('o.name')} AS name, s.position AS segment, s.dataset_id AS first, s.document_id AS second
     FROM ${segmentPlace} WHERE`,
    's.id',
  ],
  child_chunk: [
    `SELECT c.id, ${sorted('o.name')} AS name, s.position AS segment, c.position AS chunk, c.dataset_id AS first,
       s.document_id AS second, s.id AS third
     FROM ${segmentPlace} JOIN child_chunks c ON c.dataset_id = s.dataset_id AND c.segment_id = s.id
     WHERE c.deleted = 0 AND`,
    'c.id',
  ],
  conversation: [
    `SELECT conversation_id AS id, ${sorted('COALESCE(name, derived_name)')} AS name, app_id AS first
     FROM conversations WHERE deleted = 0 AND`,
    'conversation_id',
  ],
} as const;

type OwnKind = keyof typeof statements;
const isOwn = (kind: RecordKind): kind is OwnKind => Object.hasOwn(statements, kind);

/** Messages, reviews and revisions have the names of their parents. */
const parents = {
  message: 'conversation',
  review: 'conversation',
  child_chunk_revision: 'child_chunk',
  model_provider: 'workspace',
} as const;

export async function findNames(
  engine: ReadEngine,
  kind: RecordKind,
  ids: readonly string[],
): Promise<ReadonlyMap<string, RecordName>> {
  if (ids.length === 0) return new Map();
  if (isOwn(kind)) return byId(await readNames(engine, kind, ids));
  const parts = ids.map((id) => ({ id, parent: id.slice(0, id.indexOf('/')), rest: id.slice(id.indexOf('/') + 1) }));
  const names = byId(await readNames(engine, parents[kind], [...new Set(parts.map(({ parent }) => parent))]));
  const existing =
    kind === 'model_provider'
      ? await readProviders(
          engine,
          parts.map(({ parent }) => parent),
        )
      : undefined;
  return byId(
    parts.flatMap(({ id, parent, rest }) => {
      const found = names.get(parent);
      if (found === undefined || existing?.has(id) === false) return [];
      const path = kind === 'child_chunk_revision' ? found.path : [...found.path, rest];
      return [{ id, name: kind === 'model_provider' ? rest : found.name, path }];
    }),
  );
}

async function readNames(engine: ReadEngine, kind: OwnKind, ids: readonly string[]): Promise<Named[]> {
  const [select, column] = statements[kind];
  const { isIn, list } = engine.dialect;
  const rows = await engine.read<NameRow>(`${select} ${isIn(column)}`, list(ids));
  return rows.map(({ id, name, segment, chunk, first, second, third }) => {
    const places = [
      ...(segment === undefined ? [] : [`segment ${segment}`]),
      ...(chunk === undefined ? [] : [`chunk ${chunk}`]),
    ];
    const above = [first, second, third].filter((part) => part !== undefined).filter((part) => part !== id);
    return { id, name: [name, ...places].join(', '), path: [...above, id] };
  });
}

async function readProviders(engine: ReadEngine, workspace_ids: readonly string[]): Promise<ReadonlySet<string>> {
  const { isIn, list } = engine.dialect;
  const text = `SELECT workspace_id, provider FROM model_providers WHERE ${isIn('workspace_id')}`;
  const rows = await engine.read(text, list(workspace_ids));
  return new Set(rows.map(({ workspace_id, provider }) => `${workspace_id}/${provider}`));
}

const byId = (rows: readonly Named[]): ReadonlyMap<string, RecordName> =>
  new Map(rows.map(({ id, name, path }) => [id, { name, path }]));
