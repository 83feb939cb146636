import type { AppListed, ListedKey, WorkspaceListed } from '../../contract/admin.ts';
import type { ChildChunk } from '../../contract/child-chunk.ts';
import type { DatasetListed, DocumentListed, RevisionListed, SegmentListed } from '../../contract/console/knowledge.ts';
import type { RecordKind } from '../../contract/record.ts';
import {
  type AdminReads,
  type ListRange,
  type ListRows,
  type Neighbours,
  type StoredProvider,
  sortText,
} from '../../domain/store/admin-reads.ts';
import type { RecordName } from '../../domain/store/audit.ts';
import type { KnowledgePath, MissingPart } from '../../domain/store/child-chunks.ts';
import type { ReadEngine, Value } from '../base/engine.ts';
import type { Statement } from '../base/statement.ts';
import { foundRow } from '../knowledge/path.ts';
import * as sql from './admin-statements.ts';
import { addDatasetTotals, addDocumentTotals } from './knowledge-totals.ts';
import { findNames } from './record-names.ts';

/** Reads for the console, on either engine. */
export class SqlAdminReads implements AdminReads {
  readonly #engine: ReadEngine;

  constructor(engine: ReadEngine) {
    this.#engine = engine;
  }

  #list<R extends object>(list: sql.List, range: ListRange, ...values: Value[]): Promise<ListRows<R>> {
    return sql.readList(this.#engine, list, values, range);
  }

  async #find<R extends object>(statement: Statement<R>, ...values: Value[]): Promise<R | undefined> {
    return (await this.#engine.read(statement, ...values))[0];
  }

  listWorkspaces(range: ListRange): Promise<ListRows<WorkspaceListed>> {
    return this.#list(sql.lists.workspaces, range);
  }

  findWorkspace(id: string): Promise<WorkspaceListed | undefined> {
    return this.#find(sql.findWorkspace, id);
  }

  listApps(range: ListRange): Promise<ListRows<AppListed>> {
    return this.#list(sql.lists.apps, range);
  }

  findApp(id: string): Promise<AppListed | undefined> {
    return this.#find(sql.findApp, id);
  }

  async listProviders(workspace_id: string, range: ListRange): Promise<ListRows<StoredProvider>> {
    const list = sql.lists.providers;
    const { rows, has_more } = await this.#list<{ position: number; doc: string }>(list, range, workspace_id);
    const providers = rows.map(({ position, doc }) => {
      const { workspace_id: tenant_id, ...entry } = JSON.parse(doc);
      return { ...entry, tenant_id, position };
    });
    return { rows: providers, has_more };
  }

  async findPath(path: KnowledgePath): Promise<{ workspace_id: string } | MissingPart> {
    return foundRow((await this.#engine.read(...sql.findPath(path)))[0]);
  }

  async listDatasets(range: ListRange): Promise<ListRows<DatasetListed>> {
    const { rows, has_more } = await this.#list<sql.DatasetRow>(sql.listDatasets(this.#engine.dialect), range);
    return { rows: await addDatasetTotals(this.#engine, rows), has_more };
  }

  async findDataset(id: string): Promise<DatasetListed | undefined> {
    const rows = await this.#engine.read(sql.findDataset(this.#engine.dialect), id);
    return (await addDatasetTotals(this.#engine, rows))[0];
  }

  async listDocuments(dataset_id: string, range: ListRange): Promise<ListRows<DocumentListed>> {
    const { rows, has_more } = await this.#list<sql.DocumentRow>(sql.lists.documents, range, dataset_id);
    return { rows: await addDocumentTotals(this.#engine, dataset_id, rows), has_more };
  }

  async findDocument(dataset_id: string, id: string): Promise<DocumentListed | undefined> {
    const rows = await this.#engine.read(sql.findDocument, dataset_id, id);
    return (await addDocumentTotals(this.#engine, dataset_id, rows))[0];
  }

  async findNeighbours(dataset_id: string, { id, name }: { id: string; name: string }): Promise<Neighbours> {
    const range = { after: [sortText(name), id], count: 1 };
    const find = async (descending: boolean) => {
      const list = { ...sql.lists.documents, descending };
      const { rows } = await this.#list<sql.DocumentRow>(list, range, dataset_id);
      return rows[0] ?? null;
    };
    const [previous, next] = await Promise.all([find(true), find(false)]);
    return { previous, next };
  }

  listSegments(
    dataset_id: string,
    document_id: string,
    range: ListRange,
    order: 'asc' | 'desc',
  ): Promise<ListRows<SegmentListed>> {
    const list = { ...sql.lists.segments, descending: order === 'desc' };
    return this.#list(list, range, dataset_id, dataset_id, document_id);
  }

  findSegment(dataset_id: string, document_id: string, id: string): Promise<SegmentListed | undefined> {
    return this.#find(sql.findSegment, dataset_id, dataset_id, document_id, id);
  }

  listChildChunks(dataset_id: string, segment_id: string, range: ListRange): Promise<ListRows<ChildChunk>> {
    return this.#list(sql.lists.childChunks, range, dataset_id, segment_id);
  }

  listRevisions(dataset_id: string, child_chunk_id: string, range: ListRange): Promise<ListRows<RevisionListed>> {
    return this.#list(sql.lists.revisions, range, dataset_id, child_chunk_id);
  }

  async listKeys(range: ListRange): Promise<ListRows<ListedKey>> {
    const { rows, has_more } = await this.#list<sql.KeyRow>(sql.lists.keys, range);
    return { rows: rows.map(parseKey), has_more };
  }

  async findKey(id: string): Promise<ListedKey | undefined> {
    return (await this.#engine.read(sql.findKey, id)).map(parseKey)[0];
  }

  findNames(kind: RecordKind, ids: readonly string[]): Promise<ReadonlyMap<string, RecordName>> {
    return findNames(this.#engine, kind, ids);
  }
}

/** Parses `dataset_ids`, which is stored as JSON, and `read_only`, which is 0 or 1. */
export function parseKey<R extends Pick<sql.KeyRow, 'dataset_ids' | 'read_only'>>({
  dataset_ids,
  read_only,
  ...row
}: R): Omit<R, 'dataset_ids' | 'read_only'> & Pick<ListedKey, 'dataset_ids' | 'read_only'> {
  return { ...row, dataset_ids: dataset_ids === null ? null : JSON.parse(dataset_ids), read_only: read_only === 1 };
}
