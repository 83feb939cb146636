import type { ChildChunkPath, DocumentPath, MessagePath, SegmentPath } from './requests.ts';

/** Values of a query. A list is sent as a repeated parameter. */
export type Query = Record<string, string | number | readonly string[] | undefined>;

/** A path with its query. */
export function withQuery(path: string, query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, String(one)]),
  );
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`;
}

export const conversationPath = (conversation_id: string): string =>
  `/conversations/${segmentOf('conversation_id', conversation_id)}`;
export const messagePath = (message_id: string): string => `/messages/${segmentOf('message_id', message_id)}`;
export const storedMessagePath = ({ app_id, conversation_id, message_id }: MessagePath): string =>
  `/admin/apps/${segmentOf('app_id', app_id)}${conversationPath(conversation_id)}${messagePath(message_id)}`;
export const modelsPath = (model_type: string): string =>
  `/workspaces/current/models/model-types/${segmentOf('model_type', model_type)}`;
export const datasetPath = (dataset_id: string): string => `/datasets/${segmentOf('dataset_id', dataset_id)}`;
export const documentPath = ({ dataset_id, document_id }: DocumentPath): string =>
  `${datasetPath(dataset_id)}/documents/${segmentOf('document_id', document_id)}`;
export const segmentPath = ({ segment_id, ...document }: SegmentPath): string =>
  `${documentPath(document)}/segments/${segmentOf('segment_id', segment_id)}`;
export const chunkPath = ({ child_chunk_id, ...segment }: ChildChunkPath): string =>
  `${segmentPath(segment)}/child_chunks/${segmentOf('child_chunk_id', child_chunk_id)}`;

/** One part of a path. `.` and `..` would lead to another path. */
function segmentOf(name: string, id: string): string {
  if (typeof id !== 'string' || /^\.{0,2}$/.test(id)) throw new TypeError(`${name} must be an id`);
  return encodeURIComponent(id);
}
