import { SegmentPath } from '../../contract/child-chunk.ts';
import {
  ChildChunkPage,
  ChildChunkQuery,
  DocumentQuery,
  KnowledgeBaseQuery,
  offsetPage,
  SegmentPage,
  SegmentQuery,
  SegmentResponse,
  SingleDocumentQuery,
} from '../../contract/knowledge/pages.ts';
import { DocumentResponse, KnowledgeBase, KnowledgeDocument, metadataModes } from '../../contract/knowledge.ts';
import { Type } from '../../contract/type.ts';
import * as knowledge from '../../domain/knowledge/list-knowledge.ts';
import { withPage } from '../../domain/knowledge/offset-page.ts';
import { validatorCompiler } from '../request/query.ts';
import { together } from '../route-types.ts';
import { keyGet } from './key-get.ts';

const { dataset_id, document_id } = SegmentPath.properties;
const DatasetPath = Type.Object({ dataset_id });
const DocumentPath = Type.Object({ dataset_id, document_id });
const datasetUrl = '/v1/datasets/:dataset_id';
const documentUrl = `${datasetUrl}/documents/:document_id`;
const segmentUrl = `${documentUrl}/segments/:segment_id`;

/** The error code of an unknown value is `invalid_metadata`, not that of an invalid parameter. */
const AnyMetadata = Type.Object({ metadata: Type.Optional(Type.String()) });

const tags = ['Knowledge'];

/** The knowledge bases that a knowledge key allows, down to their child chunks. */
export const datasetRoutes = together(
  keyGet(['knowledge'], {
    url: '/v1/datasets',
    tags,
    operationId: 'listKnowledgeBases',
    summary: 'List Knowledge Bases',
    description: 'Knowledge bases that the key allows, newest first, then by ID.',
    querystring: KnowledgeBaseQuery,
    response: offsetPage(KnowledgeBase),
    read: (request) => knowledge.listDatasets(request.store, request, withPage(request.query)),
  }),
  keyGet(['knowledge'], {
    url: datasetUrl,
    tags,
    operationId: 'getKnowledgeBase',
    summary: 'Get a Knowledge Base',
    description: 'A knowledge base, with the number of its documents and words.',
    params: DatasetPath,
    response: KnowledgeBase,
    read: async ({ params, caller, store }) => JSON.stringify(await knowledge.findDataset(store, caller, params)),
  }),
  keyGet(['knowledge'], {
    url: `${datasetUrl}/documents`,
    tags,
    operationId: 'listKnowledgeDocuments',
    summary: 'List Documents',
    description: 'Documents of a knowledge base, newest first, then by position, descending, then by ID.',
    params: DatasetPath,
    querystring: DocumentQuery,
    response: offsetPage(KnowledgeDocument),
    read: (request) => knowledge.listDocuments(request.store, request, request.params, withPage(request.query)),
  }),
  keyGet(['knowledge'], {
    url: documentUrl,
    tags,
    operationId: 'getKnowledgeDocument',
    summary: 'Get a Document',
    description: 'A document. `metadata` selects its fields.',
    params: DocumentPath,
    querystring: SingleDocumentQuery,
    validatorCompiler: (part) =>
      validatorCompiler(part.httpPart === 'querystring' ? { ...part, schema: AnyMetadata } : part),
    response: DocumentResponse,
    read: async ({ params, query, caller, store }) =>
      JSON.stringify(await knowledge.findDocument(store, caller, params, query.metadata ?? metadataModes[0])),
  }),
  keyGet(['knowledge'], {
    url: `${documentUrl}/segments`,
    tags,
    operationId: 'listKnowledgeSegments',
    summary: 'List Segments',
    description: 'Segments of a document with their child chunks, by position, then by ID.',
    params: DocumentPath,
    querystring: SegmentQuery,
    response: SegmentPage,
    read: (request) => knowledge.listSegments(request.store, request, request.params, withPage(request.query)),
  }),
  keyGet(['knowledge'], {
    url: segmentUrl,
    tags,
    operationId: 'getKnowledgeSegment',
    summary: 'Get a Segment',
    description: 'A segment with its child chunks.',
    params: SegmentPath,
    response: SegmentResponse,
    read: (request) => knowledge.findSegment(request.store, request, request.params),
  }),
  keyGet(['knowledge'], {
    url: `${segmentUrl}/child_chunks`,
    tags,
    operationId: 'listKnowledgeChildChunks',
    summary: 'List Child Chunks',
    description: 'Child chunks of a segment, by position, then by ID.',
    params: SegmentPath,
    querystring: ChildChunkQuery,
    response: ChildChunkPage,
    read: (request) => knowledge.listChildChunks(request.store, request, request.params, withPage(request.query)),
  }),
);
