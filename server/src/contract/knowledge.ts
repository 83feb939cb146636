import type { TSchema } from 'typebox';
import { ChildChunk } from './child-chunk.ts';
import { epochSeconds, flag, id, integer, list, named, nullable, openObject, shape, text, uuid } from './primitives.ts';
import { Type } from './type.ts';

/**
 * Items of the lists of knowledge bases. The order of the fields is that of the API specification. A field with a
 * `default` is a constant: it has this value unless a record says otherwise, since the service stores nothing for it.
 */

const constant = <S extends TSchema>(schema: S, value: unknown): S => ({ ...schema, default: value });
const absent = <S extends TSchema>(schema: S) => constant(nullable(schema), null);
const never = (description: string) => constant(flag(description), false);
const anyObject = (description: string) => nullable(openObject(description));

export const Tag = named('Tag', 'A tag.', {
  id: id('Tag ID.'),
  name: text('Name.'),
  type: text('Type.', { default: 'knowledge' }),
});

const MetadataField = shape({ id: text('Field ID.'), name: text('Name.'), type: text('Type.') });

const reranking = shape({
  reranking_provider_name: absent(text('Provider of the reranking model.')),
  reranking_model_name: absent(text('Reranking model.')),
});
const retrieval = shape({
  search_method: constant(text('Search method.'), 'semantic_search'),
  reranking_enable: never('Whether results are reranked.'),
  reranking_mode: absent(text('Reranking mode.')),
  reranking_model: constant(reranking, constantsOf(reranking)),
  weights: constant(anyObject('Weights of a hybrid search.'), null),
  top_k: constant(integer('Number of results.'), 2),
  score_threshold_enabled: never('Whether results need a minimum score.'),
  score_threshold: constant(nullable(Type.Number({ description: 'Minimum score.' })), null),
});
const summaries = shape({
  enable: never('Whether summaries are created.'),
  model_name: absent(text('Model.')),
  model_provider_name: absent(text('Provider of the model.')),
  summary_prompt: absent(text('Prompt.')),
});
const external = shape({
  external_knowledge_id: absent(text('ID.')),
  external_knowledge_api_id: absent(text('ID of the API.')),
  external_knowledge_api_name: absent(text('Name of the API.')),
  external_knowledge_api_endpoint: absent(text('Address of the API.')),
});
const icon = shape({
  icon_type: absent(text('Type of icon.')),
  icon: absent(text('Icon.')),
  icon_background: absent(text('Background.')),
  icon_url: absent(text('Address.')),
});

export const KnowledgeBase = named('KnowledgeBase', 'A knowledge base.', {
  id: uuid('Knowledge base ID.'),
  name: text('Name.'),
  description: nullable(text('Description.')),
  provider: constant(text('Provider.'), 'vendor'),
  permission: constant(text('Users who may use it.'), 'all_team_members'),
  data_source_type: nullable(text('Type of data source.')),
  indexing_technique: nullable(text('Indexing technique.')),
  app_count: constant(integer('Number of apps that use it.'), 0),
  document_count: integer('Number of documents.'),
  word_count: integer('Number of words in its documents.'),
  created_by: nullable(text('Id of the creator; the workspace if that is not known.')),
  author_name: absent(text('Author.')),
  created_at: epochSeconds('Creation time.'),
  updated_by: absent(text('Id of the user of the last change.')),
  updated_at: epochSeconds('Time of the last change.'),
  embedding_model: nullable(text('Embedding model.')),
  embedding_model_provider: nullable(text('Provider of the embedding model.')),
  embedding_available: constant(flag('Whether the embedding model is available.'), true),
  retrieval_model_dict: constant(retrieval, constantsOf(retrieval)),
  summary_index_setting: constant(summaries, constantsOf(summaries)),
  tags: list(Tag, 'Tags.'),
  doc_form: nullable(text('Splitting method of its documents.')),
  external_knowledge_info: constant(external, constantsOf(external)),
  external_retrieval_model: constant(anyObject('Settings of external retrieval.'), null),
  doc_metadata: constant(list(MetadataField, 'Metadata fields.'), []),
  built_in_field_enabled: never('Whether built-in metadata fields are used.'),
  pipeline_id: absent(text('Pipeline.')),
  runtime_mode: absent(text('Runtime mode.')),
  chunk_structure: absent(text('Chunk structure.')),
  icon_info: constant(icon, constantsOf(icon)),
  is_published: never('Whether its pipeline is published.'),
  total_documents: integer('Number of documents.'),
  total_available_documents: integer('Number of documents whose `display_status` is `available`.'),
  enable_api: constant(flag('Whether the API may use it.'), true),
  is_multimodal: never('Whether it has images.'),
  maintainer: absent(text('Maintainer.')),
});

export const displayStatuses = ['available', 'disabled', 'archived', 'indexing', 'queuing', 'paused', 'error'] as const;
export type DisplayStatus = (typeof displayStatuses)[number];
export const metadataModes = ['all', 'only', 'without'] as const;
export type MetadataMode = (typeof metadataModes)[number];

const documentStart = {
  id: uuid('Document ID.'),
  position: integer('Position in the knowledge base.'),
  data_source_type: nullable(text('Type of data source.')),
  data_source_info: constant(openObject('Data source.'), {}),
};
const documentOrigin = {
  name: text('Name.'),
  created_from: absent(text('Channel of its creation.')),
  created_by: text('Id of the creator; the workspace if that is not known.'),
  created_at: epochSeconds('Creation time.'),
  tokens: nullable(integer('Number of tokens.')),
  indexing_status: text('State of its indexing.'),
};
const documentState = {
  error: absent(text('Error.')),
  enabled: flag('Whether it is enabled.'),
  disabled_at: absent(epochSeconds('When it was disabled.')),
  disabled_by: absent(text('Id of the user who disabled it.')),
  archived: flag('Whether it is archived.'),
};
const process_rule_id = absent(text('Processing rule.'));
const display_status = text(`Status: ${displayStatuses.map((status) => `\`${status}\``).join(', ')}.`);
const hit_count = absent(integer('Number of times it was retrieved.'));
export const doc_form = nullable(text('Splitting method.'));
const doc_metadata = list(openObject('A metadata field with its value.'), 'Metadata.');
const documentEnd = {
  summary_index_status: absent(text('Status of its summary.')),
  need_summary: never('Whether it needs a summary.'),
};

export const KnowledgeDocument = named('KnowledgeDocument', 'A document in a list.', {
  ...documentStart,
  data_source_detail_dict: constant(anyObject('Details of the data source.'), null),
  dataset_process_rule_id: process_rule_id,
  ...documentOrigin,
  ...documentState,
  display_status,
  word_count: integer('Number of words in its segments.'),
  hit_count,
  doc_form,
  doc_metadata,
  ...documentEnd,
});

const processRule = shape({
  mode: absent(text('Mode.')),
  rules: constant(anyObject('Rules.'), null),
});
const typeAndMetadata = { doc_type: absent(text('Type of document.')), doc_metadata };

/** The fields of a single document. `metadata=only` and `metadata=without` select some of them. */
export const SingleDocument = shape({
  ...documentStart,
  dataset_process_rule_id: process_rule_id,
  dataset_process_rule: constant(processRule, constantsOf(processRule)),
  document_process_rule: constant(anyObject('Processing rule of the document.'), null),
  ...documentOrigin,
  completed_at: absent(epochSeconds('When its indexing was completed.')),
  updated_at: epochSeconds('Time of the last change.'),
  indexing_latency: constant(nullable(Type.Number({ description: 'Duration of its indexing.' })), null),
  ...documentState,
  ...typeAndMetadata,
  segment_count: integer('Number of segments.'),
  average_segment_length: integer('Words per segment, rounded down.'),
  hit_count,
  display_status,
  doc_form,
  doc_language: nullable(text('Language.')),
  ...documentEnd,
});

/** A single document in the response, with the fields that `metadata` selects. */
export const DocumentResponse = Type.Unsafe<unknown>({
  ...SingleDocument,
  required: ['id'],
  title: 'SingleDocument',
  description:
    'A document. `metadata=only` selects `id`, `doc_type` and `doc_metadata`, `without` all but the last two.',
});

export const KnowledgeSegment = named('KnowledgeSegment', 'A segment of a document, with its child chunks.', {
  id: uuid('Segment ID.'),
  position: integer('Position in the document.'),
  document_id: uuid('Document of the segment.'),
  content: text('Text.'),
  sign_content: absent(text('Text with signed addresses.')),
  answer: nullable(text('Answer, if the text is a question.')),
  word_count: integer('Number of words.'),
  tokens: integer('Number of tokens.'),
  keywords: nullable(list(text('A keyword.'), 'Keywords.')),
  index_node_id: nullable(text('ID of its vector in a search index.')),
  index_node_hash: nullable(text('Hash of its vector.')),
  hit_count: integer('Number of times it was retrieved.'),
  enabled: flag('Whether it is enabled.'),
  disabled_at: absent(epochSeconds('When it was disabled.')),
  disabled_by: absent(text('Id of the user who disabled it.')),
  status: text('State of its indexing.'),
  created_by: text('Id of the creator; the workspace if that is not known.'),
  created_at: epochSeconds('Creation time.'),
  updated_at: epochSeconds('Time of the last change.'),
  updated_by: absent(text('Id of the user of the last change.')),
  indexing_at: absent(epochSeconds('When its indexing started.')),
  completed_at: absent(epochSeconds('When its indexing was completed.')),
  error: absent(text('Error.')),
  stopped_at: absent(epochSeconds('When its indexing was stopped.')),
  child_chunks: list(ChildChunk, 'Its child chunks, by position, then by ID.'),
  attachments: constant(list(openObject('An attachment.'), 'Attachments.'), []),
  summary: absent(text('Summary.')),
});

/** The value of each constant of a response, by field. */
export function constantsOf(schema: { properties: object }): Record<string, unknown> {
  const constants = Object.entries<{ default?: unknown }>(schema.properties as never);
  return Object.fromEntries(constants.flatMap(([name, field]) => ('default' in field ? [[name, field.default]] : [])));
}
