import type { Static } from 'typebox';
import type { ListQuery } from '../../contract/admin.ts';
import type { ChildChunkPath } from '../../contract/child-chunk.ts';
import type { DatasetListed, RevisionListed } from '../../contract/console/knowledge.ts';
import { byName, type CursorPage, Paging } from '../paging.ts';
import type { Store } from '../store/store.ts';
import { requireKnowledge } from './path.ts';

type Query = Static<typeof ListQuery>;

const datasets = byName<DatasetListed>();
const revisions = new Paging<RevisionListed>(['number'], ({ revision }) => [revision]);

/** A page of the knowledge bases of all workspaces, by name, then by id. */
export const listAllDatasets = ({ admin }: Store, query: Query): Promise<CursorPage<DatasetListed>> =>
  datasets.read(query, (range) => admin.listDatasets(range));

/** A page of the replaced texts of a child chunk, newest first. */
export const listRevisions = (
  store: Store,
  params: ChildChunkPath,
  query: Query,
): Promise<CursorPage<RevisionListed>> =>
  revisions.read(query, async (range) => {
    const path = await requireKnowledge(store, params);
    return store.admin.listRevisions(path.dataset_id, path.child_chunk_id, range);
  });
