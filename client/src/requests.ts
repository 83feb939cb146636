import type { CallOptions, TransportOptions } from './options.ts';
import type * as types from './types.ts';

/** The parameters of the client's methods. */

export type BackscrollOptions = TransportOptions;
export type ListMessagesQuery = types.GetConversationHistoryQuery;
/** `limit` is the size of the pages; the history starts with the message before `first_id`. */
export type HistoryQuery = Omit<types.GetConversationHistoryQuery, 'page_order'>;
/** `limit` is the size of the pages; the list starts after the conversation `last_id`, or at `cursor`. */
export type ConversationsQuery = Omit<types.GetConversationsQuery, 'first_id'>;
export type ConversationPath = { conversation_id: string };
export type ConversationRename = ConversationPath & types.Rename;
export type ConversationDeletion = ConversationPath & types.Deletion;
/** One conversation, or all conversations of a user in an app. With `dry_run` they are only counted. */
export type PurgeSelection = ({ conversation_id: string } | { app_id: string; user: string }) & {
  dry_run?: boolean | undefined;
};
export type MessagePath = ConversationPath & { app_id: string; message_id: string };
export type MessageFeedback = { message_id: string } & types.Rating & { rating: types.Feedback['rating'] | null };
/** `limit` is the size of the pages; the list starts with `page`. */
export type FeedbacksQuery = types.GetAppFeedbacksQuery;
/** `limit` is the size of the pages; the list starts at `cursor`. */
export type MessageSearchQuery = types.SearchUserMessagesQuery;
export type UsersQuery = types.ListUsersQuery;
export type RecordKind = ChangeKind | ('api_key' | 'child_chunk_revision');
/** Times are in seconds; `from` is included, `to` is not. */
export type ExportQuery = Omit<types.ExportRecordsQuery, 'kinds' | 'reads'> & {
  kinds?: readonly RecordKind[] | undefined;
};
/** A line of an export. */
export type ExportedRecord = { record: RecordKind } & Record<string, unknown>;
/** `limit` is the size of the pages; the list starts with `page`. */
export type DatasetsQuery = types.ListKnowledgeBasesQuery;
export type DocumentsQuery = DatasetPath & types.ListKnowledgeDocumentsQuery;
export type SegmentsQuery = DocumentPath & types.ListKnowledgeSegmentsQuery;
export type ChildChunksQuery = SegmentPath & types.ListKnowledgeChildChunksQuery;
export type DatasetPath = { dataset_id: string };
export type DocumentPath = DatasetPath & { document_id: string };
/** `metadata` selects the fields: `only` those of the metadata, or all `without` them. */
export type DocumentQuery = DocumentPath & types.GetKnowledgeDocumentQuery;
export type SegmentPath = DocumentPath & { segment_id: string };
export type ChildChunkPath = SegmentPath & { child_chunk_id: string };
export type ChildChunkEdit = ChildChunkPath & { content: string };
export type NewChildChunk = SegmentPath & { content: string };
/** A child chunk and the ETag of its text. */
export type TaggedChildChunk = types.ChildChunk & { etag: string };
/** The conversation that messages are appended to. A field that is left out keeps its stored value. */
export type AppendedConversation = { id: string; app_id: string } & Record<string, unknown>;
/** A message to append. Without an `id` it gets a new one. See the fields of a message record. */
export type AppendedMessage = { id?: string; query: string; answer: string } & Record<string, unknown>;
export type Append = { conversation: AppendedConversation; messages: readonly AppendedMessage[] };
/**
 * `limit` is the size of the pages. `wait` is how many seconds the service holds a request while nothing changes (20); with 0
 * the loop ends as soon as it has read everything.
 */
export type ChangesQuery<Kind extends ChangeKind = ChangeKind> = Omit<types.ListChangesQuery, 'kinds'> & {
  kinds?: readonly Kind[] | undefined;
};
/** A kind of record that the change feed lists. */
export type ChangeKind = types.Change['kind'];
/** Changes of these kinds. */
export type ChangeOf<Kind extends ChangeKind> = Extract<types.Change, { kind: Kind }>;
/** A page of the change feed with changes of these kinds. */
export type ChangePageOf<Kind extends ChangeKind> = Omit<types.ChangePage, 'data'> & { data: ChangeOf<Kind>[] };
export type ModelType = types.Model['model_type'];
/** Options of a call that is never retried. */
export type SingleCallOptions = Omit<CallOptions, 'retries'>;
export type UpdateOptions = CallOptions & {
  /** Change the chunk only if its text is the one with this `etag`; otherwise `PreconditionFailed`. */
  ifMatch?: string | undefined;
};
