import { ChildChunk, ChildChunkPath } from '../../contract/child-chunk.ts';
import * as contract from '../../contract/console/knowledge.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { Type } from '../../contract/type.ts';
import { requireFound } from '../../domain/errors.ts';
import {
  addChildChunks,
  listAllDatasets,
  listAllDocuments,
  listRevisions,
  listSegments,
} from '../../domain/knowledge/list-all.ts';
import { requireDocument, requireKnowledge, requireSegment } from '../../domain/knowledge/path.ts';
import { Paging } from '../../domain/paging.ts';
import { together } from '../route-types.ts';
import { adminObject, adminPage } from './routes.ts';

type Positioned = { position: number; id: string };
const byPosition = <R extends Positioned>() =>
  new Paging<R>(['number', 'string'], ({ position, id }) => [position, id]);

const segments = byPosition<contract.SegmentListed>();
const childChunks = byPosition<ChildChunk>();

const { dataset_id, document_id, segment_id } = ChildChunkPath.properties;
const datasetUrl = '/admin/datasets/:dataset_id';
const documentUrl = `${datasetUrl}/documents/:document_id`;
const segmentUrl = `${documentUrl}/segments/:segment_id`;

/** Knowledge bases, down to the revisions of child chunks. */
export const adminKnowledgeRoutes = together(
  adminPage('listDatasets', '/admin/datasets', {
    summary: 'List knowledge bases',
    description: 'Knowledge bases of all workspaces, by name, then by id.',
    querystring: contract.KnowledgeListQuery,
    row: contract.DatasetCited,
    run: ({ query, dependencies }) => listAllDatasets(dependencies, query),
  }),
  adminObject('getDataset', datasetUrl, {
    summary: 'Get a knowledge base',
    params: Type.Object({ dataset_id }),
    response: contract.DatasetListed,
    run: async ({ params, store }) =>
      requireFound(await store.admin.findDataset(canonicalId(params.dataset_id)), 'dataset not found'),
  }),
  adminPage('listDocuments', `${datasetUrl}/documents`, {
    summary: 'List documents',
    description: 'Documents of a knowledge base, by name, then by id.',
    params: Type.Object({ dataset_id }),
    querystring: contract.KnowledgeListQuery,
    row: contract.DocumentCited,
    run: ({ params, query, dependencies }) => listAllDocuments(dependencies, params, query),
  }),
  adminObject('getDocument', documentUrl, {
    summary: 'Get a document',
    params: Type.Object({ dataset_id, document_id }),
    response: contract.DocumentShown,
    run: async ({ params, store }) => {
      const document = await requireDocument(store, params);
      return { ...document, ...(await store.admin.findNeighbours(canonicalId(params.dataset_id), document)) };
    },
  }),
  adminPage('listSegments', `${documentUrl}/segments`, {
    summary: 'List segments',
    description: 'Parent chunks of a document, by position, then by id. A `cursor` is valid for one `order`.',
    params: Type.Object({ dataset_id, document_id }),
    querystring: contract.SegmentQuery,
    row: contract.SegmentWithChunks,
    run: async ({ params, query, store }) => {
      const page = await segments.read(query, (range) => listSegments(store, params, query, range));
      return query.include === undefined ? page : { ...page, data: await addChildChunks(store, params, page.data) };
    },
  }),
  adminObject('getSegment', segmentUrl, {
    summary: 'Get a segment',
    params: Type.Object({ dataset_id, document_id, segment_id }),
    response: contract.SegmentListed,
    run: ({ params, store }) => requireSegment(store, params),
  }),
  adminPage('listChildChunks', `${segmentUrl}/child_chunks`, {
    summary: 'List child chunks',
    description: 'Child chunks of a segment, by position, then by id.',
    params: Type.Object({ dataset_id, document_id, segment_id }),
    row: ChildChunk,
    run: ({ params, query, store }) =>
      childChunks.read(query, async (range) => {
        const path = await requireKnowledge(store, params);
        return store.admin.listChildChunks(path.dataset_id, path.segment_id, range);
      }),
  }),
  adminPage('listRevisions', `${segmentUrl}/child_chunks/:child_chunk_id/revisions`, {
    summary: 'List revisions of a child chunk',
    description: 'Replaced texts, newest first.',
    params: ChildChunkPath,
    row: contract.RevisionListed,
    run: ({ params, query, store }) => listRevisions(store, params, query),
  }),
);
