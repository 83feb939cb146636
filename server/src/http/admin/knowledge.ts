import {
  DatasetListed,
  DocumentListed,
  ListQuery,
  listOf,
  RevisionListed,
  SegmentListed,
} from '../../contract/admin.ts';
import { ChildChunk, ChildChunkPath } from '../../contract/child-chunk.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { Type } from '../../contract/type.ts';
import { notFound } from '../../domain/errors.ts';
import { requireDocument, requireKnowledge, requireSegment } from '../../domain/find-knowledge.ts';
import { aboutAdmin, responses } from '../openapi/openapi.ts';
import type { Routes } from '../route-types.ts';
import { Paging } from './paging.ts';
import { byName } from './workspaces.ts';

type Placed = { position: number; id: string };
const byPosition = <R extends Placed>() => new Paging<R>(['number', 'string'], ({ position, id }) => [position, id]);

const datasets = byName<DatasetListed>();
const documents = byName<DocumentListed>();
const segments = byPosition<SegmentListed>();
const childChunks = byPosition<ChildChunk>();
const revisions = new Paging<RevisionListed>(['number'], ({ revision }) => [revision]);

const { dataset_id, document_id, segment_id } = ChildChunkPath.properties;
const url = '/admin/datasets';

/** Knowledge bases, and what is in them. */
export const adminKnowledgeRoutes: Routes = (app, { store, bearer }) => {
  const { admin } = store;
  const onRequest = bearer.requireAdmin();

  app.route({
    method: 'GET',
    url,
    schema: {
      ...aboutAdmin,
      operationId: 'listDatasets',
      summary: 'List knowledge bases',
      description: 'Knowledge bases of all workspaces, by name, then by id.',
      querystring: ListQuery,
      response: responses({ 200: listOf(DatasetListed) }, [400, 401]),
    },
    onRequest,
    handler: ({ query }) => datasets.read(query, (place) => admin.listDatasets(place)),
  });

  app.route({
    method: 'GET',
    url: `${url}/:dataset_id`,
    schema: {
      ...aboutAdmin,
      operationId: 'getDataset',
      summary: 'Get a knowledge base',
      params: Type.Object({ dataset_id }),
      response: responses({ 200: DatasetListed }, [401, 404]),
    },
    onRequest,
    handler: async ({ params }) => {
      const found = await admin.findDataset(canonicalId(params.dataset_id));
      if (found === undefined) throw notFound('dataset not found');
      return found;
    },
  });

  app.route({
    method: 'GET',
    url: `${url}/:dataset_id/documents`,
    schema: {
      ...aboutAdmin,
      operationId: 'listDocuments',
      summary: 'List documents',
      description: 'Documents of a knowledge base, by name, then by id.',
      params: Type.Object({ dataset_id }),
      querystring: ListQuery,
      response: responses({ 200: listOf(DocumentListed) }, [400, 401, 404]),
    },
    onRequest,
    handler: ({ params, query }) =>
      documents.read(query, async (place) => {
        const path = await requireKnowledge(store, params);
        return admin.listDocuments(path.dataset_id, place);
      }),
  });

  app.route({
    method: 'GET',
    url: `${url}/:dataset_id/documents/:document_id`,
    schema: {
      ...aboutAdmin,
      operationId: 'getDocument',
      summary: 'Get a document',
      params: Type.Object({ dataset_id, document_id }),
      response: responses({ 200: DocumentListed }, [401, 404]),
    },
    onRequest,
    handler: ({ params }) => requireDocument(store, params),
  });

  app.route({
    method: 'GET',
    url: `${url}/:dataset_id/documents/:document_id/segments`,
    schema: {
      ...aboutAdmin,
      operationId: 'listSegments',
      summary: 'List segments',
      description: 'Parent chunks of a document, by position, then by id.',
      params: Type.Object({ dataset_id, document_id }),
      querystring: ListQuery,
      response: responses({ 200: listOf(SegmentListed) }, [400, 401, 404]),
    },
    onRequest,
    handler: ({ params, query }) =>
      segments.read(query, async (place) => {
        const path = await requireKnowledge(store, params);
        return admin.listSegments(path.dataset_id, path.document_id, place);
      }),
  });

  app.route({
    method: 'GET',
    url: `${url}/:dataset_id/documents/:document_id/segments/:segment_id`,
    schema: {
      ...aboutAdmin,
      operationId: 'getSegment',
      summary: 'Get a segment',
      params: Type.Object({ dataset_id, document_id, segment_id }),
      response: responses({ 200: SegmentListed }, [401, 404]),
    },
    onRequest,
    handler: ({ params }) => requireSegment(store, params),
  });

  app.route({
    method: 'GET',
    url: `${url}/:dataset_id/documents/:document_id/segments/:segment_id/child_chunks`,
    schema: {
      ...aboutAdmin,
      operationId: 'listChildChunks',
      summary: 'List child chunks',
      description: 'Child chunks of a segment, by position, then by id.',
      params: Type.Object({ dataset_id, document_id, segment_id }),
      querystring: ListQuery,
      response: responses({ 200: listOf(ChildChunk) }, [400, 401, 404]),
    },
    onRequest,
    handler: ({ params, query }) =>
      childChunks.read(query, async (place) => {
        const path = await requireKnowledge(store, params);
        return admin.listChildChunks(path.dataset_id, path.segment_id, place);
      }),
  });

  app.route({
    method: 'GET',
    url: `${url}/:dataset_id/documents/:document_id/segments/:segment_id/child_chunks/:child_chunk_id/revisions`,
    schema: {
      ...aboutAdmin,
      operationId: 'listRevisions',
      summary: 'List revisions of a child chunk',
      description: 'The texts that were replaced, newest first.',
      params: ChildChunkPath,
      querystring: ListQuery,
      response: responses({ 200: listOf(RevisionListed) }, [400, 401, 404]),
    },
    onRequest,
    handler: ({ params, query }) =>
      revisions.read(query, async (place) => {
        const path = await requireKnowledge(store, params);
        return admin.listRevisions(path.dataset_id, path.child_chunk_id, place);
      }),
  });
};
