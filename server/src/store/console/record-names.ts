import type { RecordKind } from '../../contract/record.ts';
import type { RecordName } from '../../domain/store/audit.ts';
import { markOf } from '../base/distribution.ts';
import type { ReadEngine } from '../base/engine.ts';
import { sorted } from '../base/selection.ts';

type NameRow = { id: string; name: string; segment?: number; chunk?: number } & Partial<
  Record<`path${1 | 2 | 3 | 4}`, string>
>;

const ofTable = (table: string) =>
  [`SELECT id, ${sorted('name')} AS name, id AS path1 FROM ${table} WHERE`, 'id'] as const;

const segmentPlace = `
  segments s JOIN documents o ON o.dataset_id = s.dataset_id AND o.id = s.document_id`;

/** Each ends with the condition on the ids, and has the path from the top down to the record. */
const statements = {
  workspace: ofTable('workspaces'),
  app: ofTable('apps'),
  api_key: ofTable('api_keys'),
  person: ofTable('persons'),
  dataset: ofTable('datasets'),
  document: [`SELECT id, ${sorted('name')} AS name, dataset_id AS path1, id AS path2 FROM documents WHERE`, 'id'],
  segment: [
    `SELECT s.id, ${sorted('o.name')} AS name, s.position AS segment, s.dataset_id AS path1, s.document_id AS path2,
       s.id AS path3
     FROM ${segmentPlace} WHERE`,
    's.id',
  ],
  child_chunk: [
    `SELECT c.id, ${sorted('o.name')} AS name, s.position AS segment, c.position AS chunk, c.dataset_id AS path1,
       s.document_id AS path2, s.id AS path3, c.id AS path4
     FROM ${segmentPlace} JOIN child_chunks c ON c.dataset_id = s.dataset_id AND c.segment_id = s.id
     WHERE c.deleted = 0 AND`,
    'c.id',
  ],
  conversation: [
    `SELECT conversation_id AS id, ${sorted(`COALESCE(name, derived_name, '')`)} AS name, app_id AS path1,
       conversation_id AS path2
     FROM conversations WHERE deleted = 0 AND`,
    'conversation_id',
  ],
  model_provider: [
    `SELECT workspace_id || '/' || provider AS id, provider AS name, workspace_id AS path1, provider AS path2
     FROM model_providers WHERE`,
    `workspace_id || '/' || provider`,
  ],
} as const;

type OwnKind = keyof typeof statements;
const isOwn = (kind: RecordKind): kind is OwnKind => Object.hasOwn(statements, kind);

/** Messages, reviews and revisions have the names of their parents. */
const parents = { message: 'conversation', review: 'conversation', child_chunk_revision: 'child_chunk' } as const;

/** The names of records in the audit log now: their beginnings, which is enough to show them. */
export async function findNames(
  engine: ReadEngine,
  kind: RecordKind,
  ids: readonly string[],
): Promise<ReadonlyMap<string, RecordName>> {
  if (ids.length === 0) return new Map();
  if (isOwn(kind)) return readNames(engine, kind, ids);
  const parts = ids.map((id) => ({ id, parent: id.slice(0, id.indexOf('/')), rest: id.slice(id.indexOf('/') + 1) }));
  const names = await readNames(engine, parents[kind], [...new Set(parts.map(({ parent }) => parent))]);
  return new Map(
    parts.flatMap(({ id, parent, rest }): [string, RecordName][] => {
      const found = names.get(parent);
      if (found === undefined) return [];
      return [[id, kind === 'child_chunk_revision' ? found : { ...found, path: [...found.path, rest] }]];
    }),
  );
}

async function readNames(engine: ReadEngine, kind: OwnKind, ids: readonly string[]): Promise<Map<string, RecordName>> {
  const [select, column] = statements[kind];
  const { isIn, list } = engine.dialect;
  const rows = await engine.read<NameRow>(`${select} ${isIn(column)}${markOf('conversations', column)}`, list(ids));
  return new Map(
    rows.map(({ id, name, segment, chunk, path1, path2, path3, path4 }) => {
      const place = (thing: string, position?: number) => (position === undefined ? '' : `, ${thing} ${position}`);
      const path = [path1, path2, path3, path4].filter((part) => part !== undefined);
      return [id, { name: name + place('segment', segment) + place('chunk', chunk), path }];
    }),
  );
}
