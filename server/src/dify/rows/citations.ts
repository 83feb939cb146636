import { derivedId } from '../../domain/derived-id.ts';
import { asInteger, asNumber, asText, isAbsent, isObject, isUuidText, type OpenObject } from '../map/json.ts';
import type { RecordMapper } from '../map/record-mapper.ts';
import type { MessageRow } from '../source.ts';

/** The citations in the metadata of a message. In the source, each field of a citation may be null. */
export function mapCitations(mapper: RecordMapper, message: MessageRow): OpenObject[] {
  const field = 'retriever_resources';
  const resources = mapper.object(message.message_metadata, 'message_metadata')?.[field];
  const list = Array.isArray(resources) || isAbsent(resources) ? resources || [] : mapper.skip(field, 'not a list');
  return mapper.parts(field, list, (resource, path, index) =>
    isObject(resource) ? mapCitation(mapper, resource, message, index, path) : mapper.skip(path, 'not an object'),
  );
}

function mapCitation(
  mapper: RecordMapper,
  resource: OpenObject,
  { id, created_at }: MessageRow,
  index: number,
  path: string,
): OpenObject {
  const read = <V>(name: string, convert: (value: unknown) => V | undefined, missing: V): V => {
    const value = resource[name] ?? undefined;
    if (value === undefined) return missing;
    return convert(value) ?? mapper.skip(`${path}.${name}`, 'wrong type') ?? missing;
  };
  const text = (name: string): string => read(name, asText, '');
  const integer = (name: string, missing = 0): number => read(name, asInteger, missing);

  const content = text('content');
  const dataset_name = text('dataset_name');
  const document_name = text('document_name') || text('title');
  // Knowledge outside the source has no ids: the title of the document is in `document_id`, and there is no segment.
  const dataset_id = idOr(resource.dataset_id, ['dataset', text('dataset_id') || dataset_name]);
  const document_id = idOr(resource.document_id, ['document', dataset_id, text('document_id') || document_name]);
  const segment_id = idOr(resource.segment_id, ['segment', document_id, text('segment_id') || content]);
  return {
    // The source has no ids of citations: it generates one on each read.
    id: derivedId('retriever_resource', id, `${index}`),
    message_id: id,
    position: integer('position', index + 1),
    dataset_id,
    dataset_name,
    document_id,
    document_name,
    data_source_type: text('data_source_type'),
    segment_id,
    score: read('score', asNumber, 0),
    hit_count: integer('hit_count'),
    word_count: integer('word_count'),
    segment_position: integer('segment_position'),
    index_node_hash: text('index_node_hash'),
    content,
    summary: read<string | null>('summary', asText, null),
    created_at,
  };
}

const idOr = (id: unknown, parts: readonly string[]): string => (isUuidText(id) ? id : derivedId(...parts));
