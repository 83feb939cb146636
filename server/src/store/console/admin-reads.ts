import type { ListedKey } from '../../contract/admin.ts';
import type { PersonListed } from '../../contract/people/people.ts';
import { type AdminReads, type ListRange, sortText } from '../../domain/store/admin-reads.ts';
import type { Read } from '../../domain/store/audit.ts';
import { readConditions, readList } from '../accounting/reads.ts';
import type { ReadEngine, Value } from '../base/engine.ts';
import { split } from '../base/selection.ts';
import type { Statement } from '../base/statement.ts';
import { findPath, foundRow } from '../knowledge/path.ts';
import * as sql from './admin-statements.ts';
import { addDatasetTotals, addDocumentTotals, listCited } from './cited-lists.ts';
import { findNames } from './record-names.ts';
import { viewPrefix } from './sessions.ts';

export function adminReads(engine: ReadEngine): AdminReads {
  const list = <R extends object>(list: sql.List, range: ListRange, ...values: Value[]) =>
    sql.readList<R>(engine, list, values, range);
  const find = async <R extends object>(statement: Statement<R>, ...values: Value[]) =>
    (await engine.read(statement, ...values))[0];
  return {
    listSavedViews: ({ after, count }) =>
      list(sql.lists.savedViews, { after: after?.map((name) => `${viewPrefix}${name}`), count }),
    listWorkspaces: (range) => list(sql.lists.workspaces, range),
    findWorkspace: (id) => find(sql.findWorkspace, id),
    listApps: (range) => list(sql.lists.apps, range),
    findApp: (id) => find(sql.findApp, id),
    listProviders: async (workspace_id, range) => {
      const found = await list<{ position: number; doc: string }>(sql.lists.providers, range, workspace_id);
      const rows = found.rows.map(({ position, doc }) => {
        const { workspace_id: tenant_id, ...entry } = JSON.parse(doc);
        return { ...entry, tenant_id, position };
      });
      return { rows, has_more: found.has_more };
    },
    findPath: async (path) => foundRow(await find(...findPath(path))),
    listDatasets: (range) =>
      listCited(engine, sql.listDatasets(engine.dialect), undefined, range, (rows: sql.DatasetRow[]) =>
        addDatasetTotals(engine, rows),
      ),
    findDataset: async (id) =>
      (await addDatasetTotals(engine, await engine.read(sql.findDataset(engine.dialect), id)))[0],
    listDocuments: (dataset_id, range) =>
      listCited(engine, sql.lists.documents, dataset_id, range, (rows: sql.DocumentRow[]) =>
        addDocumentTotals(engine, dataset_id, rows),
      ),
    findDocument: async (dataset_id, id) =>
      (await addDocumentTotals(engine, dataset_id, await engine.read(sql.findDocument, dataset_id, id)))[0],
    findNeighbours: async (dataset_id, { id, name }) => {
      const range = { after: [sortText(name), id], count: 1 };
      const nearest = async (descending: boolean) =>
        (await list<sql.DocumentRow>({ ...sql.lists.documents, descending }, range, dataset_id)).rows[0] ?? null;
      const [previous, next] = await Promise.all([nearest(true), nearest(false)]);
      return { previous, next };
    },
    listSegments: (dataset_id, document_id, range, order) =>
      list({ ...sql.lists.segments, descending: order === 'desc' }, range, dataset_id, dataset_id, document_id),
    findSegment: (dataset_id, document_id, id) => find(sql.findSegment, dataset_id, dataset_id, document_id, id),
    listChildChunks: (dataset_id, segment_id, range) => list(sql.lists.childChunks, range, dataset_id, segment_id),
    listRevisions: (dataset_id, child_chunk_id, range) => list(sql.lists.revisions, range, dataset_id, child_chunk_id),
    listKeys: async (range) => {
      const { rows, has_more } = await list<sql.KeyRow>(sql.lists.keys, range);
      return { rows: rows.map(parseKey), has_more };
    },
    findKey: async (id) => (await engine.read(sql.findKey, id)).map(parseKey)[0],
    listPeople: async (range, now) => {
      const { rows, has_more } = await list<sql.PersonRow>(sql.lists.people, range, now);
      return { rows: rows.map(parsePerson), has_more };
    },
    findPerson: async (id, now) => (await engine.read(sql.findPerson, now, id)).map(parsePerson)[0],
    listReads: (selection, author, range) => {
      const { texts: where, values } = split(readConditions(selection, author));
      return list<Read>({ ...readList, where }, range, ...values);
    },
    findNames: (kind, ids) => findNames(engine, kind, ids),
  };
}

const parsePerson = ({ blocked, ...row }: sql.PersonRow): PersonListed => ({ ...row, blocked: blocked === 1 });

/** Parses `dataset_ids`, which is stored as JSON, and `read_only`, which is 0 or 1. */
export function parseKey<R extends Pick<sql.KeyRow, 'dataset_ids' | 'read_only'>>({
  dataset_ids,
  read_only,
  ...row
}: R): Omit<R, 'dataset_ids' | 'read_only'> & Pick<ListedKey, 'dataset_ids' | 'read_only'> {
  return { ...row, dataset_ids: dataset_ids === null ? null : JSON.parse(dataset_ids), read_only: read_only === 1 };
}
