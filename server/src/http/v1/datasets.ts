import { SegmentPath } from '../../contract/child-chunk.ts';
import * as pages from '../../contract/knowledge/pages.ts';
import { DocumentResponse, KnowledgeBase, KnowledgeDocument, metadataModes } from '../../contract/knowledge.ts';
import { Type } from '../../contract/type.ts';
import * as knowledge from '../../domain/knowledge/list-knowledge.ts';
import { keyGet } from '../operation.ts';
import { validatorCompiler } from '../request/query.ts';
import { together } from '../route-types.ts';

const { dataset_id, document_id } = SegmentPath.properties;
const DatasetPath = Type.Object({ dataset_id });
const DocumentPath = Type.Object({ dataset_id, document_id });
const datasetUrl = '/v1/datasets/:dataset_id';
const documentUrl = `${datasetUrl}/documents/:document_id`;
const segmentUrl = `${documentUrl}/segments/:segment_id`;

/** The error code of an unknown value is `invalid_metadata`, not that of an invalid parameter. */
const AnyMetadata = Type.Object({ metadata: Type.Optional(Type.String()) });

/** The knowledge bases that a knowledge key allows, down to their child chunks. */
export const datasetRoutes = together(
  keyGet('listKnowledgeBases', ['knowledge'], '/v1/datasets', {
    summary: 'List Knowledge Bases',
    description: 'Knowledge bases that the key allows, newest first, then by ID.',
    querystring: pages.KnowledgeBaseQuery,
    response: pages.offsetPage(KnowledgeBase),
    read: (request) => knowledge.listDatasets(request, knowledge.withPage(request.query)),
  }),
  keyGet('getKnowledgeBase', ['knowledge'], datasetUrl, {
    summary: 'Get a Knowledge Base',
    description: 'A knowledge base, with the number of its documents and words.',
    params: DatasetPath,
    response: KnowledgeBase,
    read: async (request) => JSON.stringify(await knowledge.findDataset(request, request.params)),
  }),
  keyGet('listKnowledgeDocuments', ['knowledge'], `${datasetUrl}/documents`, {
    summary: 'List Documents',
    description: 'Documents of a knowledge base, newest first, then by position, descending, then by ID.',
    params: DatasetPath,
    querystring: pages.DocumentQuery,
    response: pages.offsetPage(KnowledgeDocument),
    read: (request) => knowledge.listDocuments(request, request.params, knowledge.withPage(request.query)),
  }),
  keyGet('getKnowledgeDocument', ['knowledge'], documentUrl, {
    summary: 'Get a Document',
    description: 'A document. `metadata` selects its fields.',
    params: DocumentPath,
    querystring: pages.SingleDocumentQuery,
    validatorCompiler: (part) =>
      validatorCompiler(part.httpPart === 'querystring' ? { ...part, schema: AnyMetadata } : part),
    response: DocumentResponse,
    read: async (request) =>
      JSON.stringify(await knowledge.findDocument(request, request.params, request.query.metadata ?? metadataModes[0])),
  }),
  keyGet('listKnowledgeSegments', ['knowledge'], `${documentUrl}/segments`, {
    summary: 'List Segments',
    description: 'Segments of a document with their child chunks, by position, then by ID.',
    params: DocumentPath,
    querystring: pages.SegmentQuery,
    response: pages.SegmentPage,
    read: (request) => knowledge.listSegments(request, request.params, knowledge.withPage(request.query)),
  }),
  keyGet('getKnowledgeSegment', ['knowledge'], segmentUrl, {
    summary: 'Get a Segment',
    description: 'A segment with its child chunks.',
    params: SegmentPath,
    response: pages.SegmentResponse,
    read: (request) => knowledge.findSegment(request, request.params),
  }),
  keyGet('listKnowledgeChildChunks', ['knowledge'], `${segmentUrl}/child_chunks`, {
    summary: 'List Child Chunks',
    description: 'Child chunks of a segment, by position, then by ID.',
    params: SegmentPath,
    querystring: pages.ChildChunkQuery,
    response: pages.ChildChunkPage,
    read: (request) => knowledge.listChildChunks(request, request.params, knowledge.withPage(request.query)),
  }),
);
