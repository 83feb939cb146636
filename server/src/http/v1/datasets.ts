import type { FastifyReply, FastifyRequest } from 'fastify';
import { SegmentPath } from '../../contract/child-chunk.ts';
import {
  ChildChunkPage,
  ChildChunkQuery,
  DocumentQuery,
  DocumentResponse,
  KnowledgeBase,
  KnowledgeBaseQuery,
  KnowledgeDocument,
  metadataModes,
  offsetPage,
  SegmentPage,
  SegmentQuery,
  SegmentResponse,
  SingleDocumentQuery,
} from '../../contract/knowledge.ts';
import { Type } from '../../contract/type.ts';
import * as knowledge from '../../domain/knowledge/list-knowledge.ts';
import type { JsonBody } from '../../domain/knowledge/offset-page.ts';
import { withPage } from '../../domain/knowledge/offset-page.ts';
import { requireCaller } from '../auth/bearer.ts';
import { responses } from '../openapi/openapi.ts';
import { validatorCompiler } from '../request/query.ts';
import { sendLargePage } from '../response/large-page.ts';
import { onDisconnect } from '../response/message-page.ts';
import type { Routes } from '../route-types.ts';

const { dataset_id, document_id } = SegmentPath.properties;
const DatasetPath = Type.Object({ dataset_id });
const DocumentPath = Type.Object({ dataset_id, document_id });
const datasetUrl = '/v1/datasets/:dataset_id';
const documentUrl = `${datasetUrl}/documents/:document_id`;
const segmentUrl = `${documentUrl}/segments/:segment_id`;

/** The error code of an unknown value is `invalid_metadata`, not that of an invalid parameter. */
const AnyMetadata = Type.Object({ metadata: Type.Optional(Type.String()) });

const listCaller = (request: FastifyRequest, reply: FastifyReply): knowledge.ListCaller => ({
  caller: requireCaller(request, 'knowledge'),
  disconnected: () => onDisconnect(reply.raw),
});

function sendJson(reply: FastifyReply, body: JsonBody): FastifyReply {
  reply.header('content-type', 'application/json; charset=utf-8');
  return typeof body === 'string' ? reply.send(body) : sendLargePage(reply, body);
}

/** The knowledge bases that a knowledge key allows, down to their child chunks. */
export const datasetRoutes: Routes = (app, { store, bearer }) => {
  const about = { tags: ['Knowledge'], security: [{ knowledgeKey: [] }] };
  const onRequest = bearer.requireKey(['knowledge']);

  app.route({
    method: 'GET',
    url: '/v1/datasets',
    schema: {
      ...about,
      operationId: 'listKnowledgeBases',
      summary: 'List Knowledge Bases',
      description: 'Knowledge bases that the key allows, newest first, then by ID.',
      querystring: KnowledgeBaseQuery,
      response: responses({ 200: offsetPage(KnowledgeBase) }, [400, 401]),
    },
    onRequest,
    handler: async (request, reply) => {
      const caller = listCaller(request, reply);
      return sendJson(reply, await knowledge.listDatasets(store, caller, withPage(request.query)));
    },
  });

  app.route({
    method: 'GET',
    url: datasetUrl,
    schema: {
      ...about,
      operationId: 'getKnowledgeBase',
      summary: 'Get a Knowledge Base',
      description: 'A knowledge base, with the number of its documents and words.',
      params: DatasetPath,
      response: responses({ 200: KnowledgeBase }, [401, 404]),
    },
    onRequest,
    handler: async (request, reply) => {
      return reply.send(await knowledge.findDataset(store, requireCaller(request, 'knowledge'), request.params));
    },
  });

  app.route({
    method: 'GET',
    url: `${datasetUrl}/documents`,
    schema: {
      ...about,
      operationId: 'listKnowledgeDocuments',
      summary: 'List Documents',
      description: 'Documents of a knowledge base, newest first, then by position, descending, then by ID.',
      params: DatasetPath,
      querystring: DocumentQuery,
      response: responses({ 200: offsetPage(KnowledgeDocument) }, [400, 401, 404]),
    },
    onRequest,
    handler: async (request, reply) => {
      const caller = listCaller(request, reply);
      return sendJson(reply, await knowledge.listDocuments(store, caller, request.params, withPage(request.query)));
    },
  });

  app.route({
    method: 'GET',
    url: documentUrl,
    schema: {
      ...about,
      operationId: 'getKnowledgeDocument',
      summary: 'Get a Document',
      description: 'A document. `metadata` selects its fields.',
      params: DocumentPath,
      querystring: SingleDocumentQuery,
      response: responses({ 200: DocumentResponse }, [400, 401, 404]),
    },
    validatorCompiler: (part) =>
      validatorCompiler(part.httpPart === 'querystring' ? { ...part, schema: AnyMetadata } : part),
    onRequest,
    handler: async (request, reply) => {
      const { metadata = metadataModes[0] } = request.query;
      const caller = requireCaller(request, 'knowledge');
      return reply.send(await knowledge.findDocument(store, caller, request.params, metadata));
    },
  });

  app.route({
    method: 'GET',
    url: `${documentUrl}/segments`,
    schema: {
      ...about,
      operationId: 'listKnowledgeSegments',
      summary: 'List Segments',
      description: 'Segments of a document with their child chunks, by position, then by ID.',
      params: DocumentPath,
      querystring: SegmentQuery,
      response: responses({ 200: SegmentPage }, [400, 401, 404]),
    },
    onRequest,
    handler: async (request, reply) => {
      const caller = listCaller(request, reply);
      return sendJson(reply, await knowledge.listSegments(store, caller, request.params, withPage(request.query)));
    },
  });

  app.route({
    method: 'GET',
    url: segmentUrl,
    schema: {
      ...about,
      operationId: 'getKnowledgeSegment',
      summary: 'Get a Segment',
      description: 'A segment with its child chunks.',
      params: SegmentPath,
      response: responses({ 200: SegmentResponse }, [401, 404]),
    },
    onRequest,
    handler: async (request, reply) => {
      const caller = listCaller(request, reply);
      return sendJson(reply, await knowledge.findSegment(store, caller, request.params));
    },
  });

  app.route({
    method: 'GET',
    url: `${segmentUrl}/child_chunks`,
    schema: {
      ...about,
      operationId: 'listKnowledgeChildChunks',
      summary: 'List Child Chunks',
      description: 'Child chunks of a segment, by position, then by ID.',
      params: SegmentPath,
      querystring: ChildChunkQuery,
      response: responses({ 200: ChildChunkPage }, [400, 401, 404]),
    },
    onRequest,
    handler: async (request, reply) => {
      const caller = listCaller(request, reply);
      return sendJson(reply, await knowledge.listChildChunks(store, caller, request.params, withPage(request.query)));
    },
  });
};
