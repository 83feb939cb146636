import type {
  AppListed,
  DatasetListed,
  DocumentListed,
  ListedKey,
  RevisionListed,
  SegmentListed,
  WorkspaceListed,
} from '../../contract/admin.ts';
import type { ChildChunk } from '../../contract/child-chunk.ts';
import type { RecordKind } from '../../contract/record.ts';
import type { AdminReads, FoundKnowledge, KnowledgePath, ListRange, StoredProvider } from '../../domain/admin-reads.ts';
import type { RecordName } from '../../domain/audit.ts';
import type { Engine, Row, Value } from '../engine.ts';
import * as sql from './admin-statements.ts';
import { findNames } from './record-names.ts';

/** Reads for the console, on either engine. */
export class SqlAdminReads implements AdminReads {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async #list<R>(list: sql.List, range: ListRange, ...values: Value[]): Promise<R[]> {
    return (await this.#engine.read(...sql.listPage(list, values, range))) as R[];
  }

  async #find<R>(statement: string, ...values: Value[]): Promise<R | undefined> {
    return (await this.#engine.read(statement, ...values))[0] as R | undefined;
  }

  listWorkspaces(range: ListRange): Promise<WorkspaceListed[]> {
    return this.#list(sql.lists.workspaces, range);
  }

  findWorkspace(id: string): Promise<WorkspaceListed | undefined> {
    return this.#find(sql.findWorkspace, id);
  }

  listApps(range: ListRange): Promise<AppListed[]> {
    return this.#list(sql.lists.apps, range);
  }

  findApp(id: string): Promise<AppListed | undefined> {
    return this.#find(sql.findApp, id);
  }

  async listProviders(workspace_id: string, range: ListRange): Promise<StoredProvider[]> {
    const rows = await this.#list<{ position: number; doc: string }>(sql.lists.providers, range, workspace_id);
    return rows.map(({ position, doc }) => {
      const { workspace_id: tenant_id, ...entry } = JSON.parse(doc);
      return { ...entry, tenant_id, position };
    });
  }

  async findKnowledge(path: KnowledgePath): Promise<FoundKnowledge | undefined> {
    const [row] = await this.#engine.read(sql.findKnowledge, ...sql.knowledgeValues(path));
    if (row === undefined) return undefined;
    const { workspace_id, document, segment, child_chunk } = row;
    const parts = { document: document !== null, segment: segment !== null, child_chunk: child_chunk !== null };
    return { workspace_id: workspace_id as string, ...parts };
  }

  listDatasets(range: ListRange): Promise<DatasetListed[]> {
    return this.#list(sql.lists.datasets, range);
  }

  findDataset(id: string): Promise<DatasetListed | undefined> {
    return this.#find(sql.findDataset, id);
  }

  listDocuments(dataset_id: string, range: ListRange): Promise<DocumentListed[]> {
    return this.#list(sql.lists.documents, range, dataset_id);
  }

  findDocument(dataset_id: string, id: string): Promise<DocumentListed | undefined> {
    return this.#find(sql.findDocument, dataset_id, id);
  }

  listSegments(dataset_id: string, document_id: string, range: ListRange): Promise<SegmentListed[]> {
    return this.#list(sql.lists.segments, range, dataset_id, dataset_id, document_id);
  }

  findSegment(dataset_id: string, document_id: string, id: string): Promise<SegmentListed | undefined> {
    return this.#find(sql.findSegment, dataset_id, dataset_id, document_id, id);
  }

  listChildChunks(dataset_id: string, segment_id: string, range: ListRange): Promise<ChildChunk[]> {
    return this.#list(sql.lists.childChunks, range, dataset_id, segment_id);
  }

  listRevisions(dataset_id: string, child_chunk_id: string, range: ListRange): Promise<RevisionListed[]> {
    return this.#list(sql.lists.revisions, range, dataset_id, child_chunk_id);
  }

  async listKeys(range: ListRange): Promise<ListedKey[]> {
    return (await this.#list<Row>(sql.lists.keys, range)).map((row) => parseKey(row) as ListedKey);
  }

  async findKey(id: string): Promise<ListedKey | undefined> {
    return (await this.#engine.read(sql.findKey, id)).map((row) => parseKey(row) as ListedKey)[0];
  }

  findNames(kind: RecordKind, ids: readonly string[]): Promise<ReadonlyMap<string, RecordName>> {
    return findNames(this.#engine, kind, ids);
  }
}

/** Parses `dataset_ids`, which is stored as JSON, and `read_only`, which is 0 or 1. */
export function parseKey(row: Row): Row {
  const dataset_ids = row.dataset_ids === null ? null : JSON.parse(row.dataset_ids as string);
  return { ...row, dataset_ids, read_only: row.read_only === 1 };
}
