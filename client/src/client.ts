import { changePages, changesIn } from './changes.ts';
import { InvalidParam, MethodNotAllowed, NotFound } from './errors.ts';
import { messagesBefore } from './history.ts';
import { type ConversationPlace, type Items, offsetItems, pageItems, scrolledConversations } from './lists.ts';
import type { CallOptions } from './options.ts';
import { exportedRecords, feedbackItems, foundMessages, listedUsers } from './own-lists.ts';
import {
  chunkPath,
  conversationPath,
  datasetPath,
  documentPath,
  messagePath,
  modelsPath,
  segmentPath,
  storedMessagePath,
  withQuery,
} from './paths.ts';
import type * as requests from './requests.ts';
import { type ApiRequest, ifMatchHeader, Transport } from './transport.ts';
import type * as types from './types.ts';

/** A client of a Backscroll service, with one key. Decision 0021 has the rules of retries. */
export class Backscroll {
  readonly #transport: Transport;

  constructor(options: requests.BackscrollOptions) {
    this.#transport = new Transport(options);
  }

  /** One page of a conversation. For all pages, see `history`. Requires an app key. */
  async listMessages(query: requests.ListMessagesQuery, options: CallOptions = {}): Promise<types.MessagePage> {
    return this.#transport.get(withQuery('/messages', query), options);
  }

  /**
   * All messages of a conversation from the newest to the oldest, each once, even if messages are added meanwhile. The
   * next page is requested in advance; leaving the loop aborts that request. Requires an app key.
   */
  history(query: requests.HistoryQuery, options: CallOptions = {}): Items<types.Message> {
    const { first_id, limit = pageItems } = query;
    const load = (before: string | undefined, signal: AbortSignal) => {
      const page = { ...query, limit, first_id: before, page_order: 'newest_first' as const };
      return this.listMessages(page, { ...options, signal });
    };
    return messagesBefore(first_id, load, options.signal);
  }

  /**
   * Conversations of the app, or of one `user`, each once. A page is requested when the loop needs it. Requires an app key.
   */
  conversations(query: requests.ConversationsQuery = {}, options: CallOptions = {}): Items<types.ListedConversation> {
    const { cursor, last_id, limit = pageItems, ...filters } = query;
    const load = (place: ConversationPlace | undefined) => {
      const path = withQuery('/conversations', { ...filters, limit, ...place });
      return this.#transport.send<types.ConversationPage>({ method: 'GET', path }, options);
    };
    return scrolledConversations({ cursor, last_id }, load, options.signal);
  }

  /** Gives a conversation a name, or with `auto_generate` the beginning of its first query. Requires an app key. */
  async rename(rename: requests.ConversationRename, options: CallOptions = {}): Promise<types.ListedConversation> {
    const { conversation_id, ...body } = rename;
    const path = `${conversationPath(conversation_id)}/name`;
    return (await this.#transport.send<types.ListedConversation>({ method: 'POST', path, body }, options)).body;
  }

  /**
   * Deletes a conversation. `NotFound` if it does not exist; a retry that does not find it succeeds, because the first request
   * deleted it and its response was lost. Requires an app key.
   */
  async deleteConversation(deletion: requests.ConversationDeletion, options: CallOptions = {}): Promise<void> {
    const { conversation_id, user } = deletion;
    const body = user === undefined ? undefined : { user };
    // The list exists, so this is the API, and it is the conversation that does not.
    const isDone = (error: Error) => error instanceof NotFound && this.#transport.finds('/conversations', options);
    await this.#transport.send({ method: 'DELETE', path: conversationPath(conversation_id), body, isDone }, options);
  }

  /**
   * Rates a message; `rating: null` removes the feedback. `InvalidParam` if there is none to remove; a retry that finds none
   * succeeds, because the first request removed it and its response was lost. Requires an app key.
   */
  async feedback(feedback: requests.MessageFeedback, options: CallOptions = {}): Promise<void> {
    const { message_id, ...body } = feedback;
    const requestFor = (id: string) => ({ method: 'POST', path: `${messagePath(id)}/feedbacks`, body }) as const;
    // All invalid fields have the same code. With valid fields, a message that does not exist is not found.
    const isDone = async (error: Error) =>
      body.rating === null &&
      error instanceof InvalidParam &&
      !(await this.#transport.isFound(requestFor(globalThis.crypto.randomUUID()), options));
    await this.#transport.send({ ...requestFor(message_id), isDone }, options);
  }

  /** All feedback of the app, newest first. Requires an app key. */
  feedbacks(query: requests.FeedbacksQuery = {}, options: CallOptions = {}): Items<types.AppFeedback> {
    return feedbackItems(this.#transport, query, options);
  }

  /** Messages of one user of the app that have all words of `query`, newest first. Requires an app key. */
  searchMessages(query: requests.MessageSearchQuery, options: CallOptions = {}): Items<types.FoundMessage> {
    return foundMessages(this.#transport, query, options);
  }

  /** End users of all apps, or of one, with totals of their conversations. Requires an admin key. */
  users(query: requests.UsersQuery = {}, options: CallOptions = {}): Items<types.User> {
    return listedUsers(this.#transport, query, options);
  }

  /** Selected records, or all, as they come. The timeout is for the first one; never retried. Requires an admin key. */
  exportRecords(
    query: requests.ExportQuery = {},
    options: requests.SingleCallOptions = {},
  ): Items<requests.ExportedRecord> {
    return exportedRecords(this.#transport, query, options);
  }

  /** Name, description and mode of the app. Requires an app key. */
  async getInfo(options: CallOptions = {}): Promise<types.AppInfo> {
    return this.#transport.get('/info', options);
  }

  /** Settings of the app for front ends. Requires an app key. */
  async getParameters(options: CallOptions = {}): Promise<types.AppParameters> {
    return this.#transport.get('/parameters', options);
  }

  /** Knowledge bases that the key allows, newest first. Requires a knowledge key. */
  datasets(query: requests.DatasetsQuery = {}, options: CallOptions = {}): Items<types.KnowledgeBase> {
    return offsetItems(this.#transport, '/datasets', query, options);
  }

  /** A knowledge base. Requires a knowledge key. */
  async getDataset({ dataset_id }: requests.DatasetPath, options: CallOptions = {}): Promise<types.KnowledgeBase> {
    return this.#transport.get(datasetPath(dataset_id), options);
  }

  /** Documents of a knowledge base, newest first. Requires a knowledge key. */
  documents(query: requests.DocumentsQuery, options: CallOptions = {}): Items<types.KnowledgeDocument> {
    const { dataset_id, ...filters } = query;
    return offsetItems(this.#transport, `${datasetPath(dataset_id)}/documents`, filters, options);
  }

  /** A document. Requires a knowledge key. */
  async getDocument(query: requests.DocumentQuery, options: CallOptions = {}): Promise<types.SingleDocument> {
    const { metadata, ...path } = query;
    return this.#transport.get(withQuery(documentPath(path), { metadata }), options);
  }

  /** Segments of a document with their child chunks, by position. Requires a knowledge key. */
  segments(query: requests.SegmentsQuery, options: CallOptions = {}): Items<types.KnowledgeSegment> {
    const { dataset_id, document_id, ...filters } = query;
    return offsetItems(this.#transport, `${documentPath({ dataset_id, document_id })}/segments`, filters, options);
  }

  /** A segment with its child chunks. Requires a knowledge key. */
  async getSegment(path: requests.SegmentPath, options: CallOptions = {}): Promise<types.KnowledgeSegment> {
    return (await this.#transport.get<{ data: types.KnowledgeSegment }>(segmentPath(path), options)).data;
  }

  /** Child chunks of a segment, by position. Requires a knowledge key. */
  childChunks(query: requests.ChildChunksQuery, options: CallOptions = {}): Items<types.ChildChunk> {
    const { dataset_id, document_id, segment_id, ...filters } = query;
    return offsetItems(
      this.#transport,
      `${segmentPath({ dataset_id, document_id, segment_id })}/child_chunks`,
      filters,
      options,
    );
  }

  /** The current child chunk. Requires a knowledge key. */
  async getChildChunk(path: requests.ChildChunkPath, options: CallOptions = {}): Promise<requests.TaggedChildChunk> {
    return this.#chunk({ method: 'GET', path: chunkPath(path) }, options);
  }

  /**
   * Replaces the text of a child chunk; when it returns, the text is on disk. With `ifMatch` it does not overwrite a text
   * that the caller has not read. Safe to repeat, and repeated if the response was lost. Requires a knowledge key.
   */
  async updateChildChunk(
    edit: requests.ChildChunkEdit,
    options: requests.UpdateOptions = {},
  ): Promise<requests.TaggedChildChunk> {
    const { ifMatch, ...call } = options;
    const request = { path: chunkPath(edit), headers: ifMatchHeader(ifMatch), body: { content: edit.content } };
    return this.#chunk({ method: 'PATCH', ...request }, call);
  }

  /**
   * Adds a child chunk at the end of a segment; when it returns, the chunk is on disk. Never retried, because each request
   * adds a chunk: after a `Timeout` or `Connection`, read `childChunks` to see whether it was added. Requires a knowledge key.
   */
  async createChildChunk(
    chunk: requests.NewChildChunk,
    options: requests.SingleCallOptions = {},
  ): Promise<requests.TaggedChildChunk> {
    const { content, ...segment } = chunk;
    const request = { path: `${segmentPath(segment)}/child_chunks`, body: { content } };
    return this.#chunk({ method: 'POST', ...request }, { ...options, retries: 0 });
  }

  /**
   * Deletes a child chunk. `NotFound` if it does not exist; a retry that does not find it succeeds, because the first request
   * deleted it and its response was lost. Requires a knowledge key.
   */
  async deleteChildChunk(path: requests.ChildChunkPath, options: requests.UpdateOptions = {}): Promise<void> {
    const { ifMatch, ...call } = options;
    const chunks = `${segmentPath(path)}/child_chunks`;
    const isDone = (error: Error) => error instanceof NotFound && this.#transport.finds(chunks, call);
    const request = { path: chunkPath(path), headers: ifMatchHeader(ifMatch), isDone };
    await this.#transport.send({ method: 'DELETE', ...request }, call);
  }

  /** Providers with their models of one type. Requires an app key or a knowledge key. */
  async listModels(model_type: requests.ModelType, options: CallOptions = {}): Promise<types.ModelProvider[]> {
    return (await this.#transport.get<{ data: types.ModelProvider[] }>(modelsPath(model_type), options)).data;
  }

  /**
   * Stores a conversation and messages of it; when it returns, they are on disk, and otherwise none of them is stored. Records
   * are identified by their ids, so an append that is repeated because its response was lost stores nothing twice. Returns
   * the ids of the messages. Requires a writer key.
   */
  async append({ conversation, messages }: requests.Append, options: CallOptions = {}): Promise<string[]> {
    const withIds = messages.map((message) => ({ ...message, id: message.id ?? globalThis.crypto.randomUUID() }));
    const body = [
      { ...conversation, record: 'conversation' },
      ...withIds.map((message) => ({ ...message, record: 'message', conversation_id: conversation.id })),
    ];
    await this.#transport.send({ method: 'POST', path: '/admin/records', body }, options);
    return withIds.map(({ id }) => id);
  }

  /**
   * Erases one conversation, or all conversations of a user in an app, for good; with `dry_run` it only counts them. It may take as
   * long as copying the database: give it a `timeout`. Never retried, because a second response has no numbers: after a `Timeout` or
   * `Connection`, call it again until nothing is left. Requires an admin key.
   */
  async purge(selection: requests.PurgeSelection, options: requests.SingleCallOptions = {}): Promise<types.Purged> {
    const request = { method: 'POST', path: '/admin/purge', body: selection } as const;
    return (await this.#transport.send<types.Purged>(request, { ...options, retries: 0 })).body;
  }

  /**
   * Erases one message for good. `NotFound` if it does not exist; a retry that does not find it succeeds, because the first request
   * erased it and its response was lost. Requires a writer key or an admin key.
   */
  async deleteMessage(path: requests.MessagePath, options: CallOptions = {}): Promise<void> {
    const request = { path: storedMessagePath(path) };
    // The path exists without GET, so this is the API, and it is the message that does not exist.
    const hasPath = () =>
      this.#transport.send({ method: 'GET', ...request }, options).then(
        () => false,
        (error: Error) => error instanceof MethodNotAllowed,
      );
    const isDone = (error: Error) => error instanceof NotFound && hasPath();
    await this.#transport.send({ method: 'DELETE', ...request, isDone }, options);
  }

  /**
   * Changed records, each with its current state: all of them, or those after the cursor `after`, and then every change as it
   * comes. Store `cursor` of a change together with its effect, to continue there. Temporary failures are retried without end,
   * unless the call gives `retries`. `CursorGone` if the data was restored: start again. Requires a feed key or an admin key.
   */
  changes<K extends requests.ChangeKind>(
    query: requests.ChangesQuery<K> = {},
    options: CallOptions = {},
  ): Items<requests.ChangeOf<K>> {
    return changesIn(this.changePages(query, options), options.signal);
  }

  /**
   * The pages of `changes`, to process a page in one transaction and to store its cursor, also if it is empty. `has_more: false`:
   * everything has been read. Requires a feed key or an admin key.
   */
  changePages<K extends requests.ChangeKind>(
    query: requests.ChangesQuery<K> = {},
    options: CallOptions = {},
  ): Items<requests.ChangePageOf<K>> {
    return changePages(this.#transport, query, options);
  }

  async #chunk(request: ApiRequest, options: CallOptions): Promise<requests.TaggedChildChunk> {
    const { body, headers } = await this.#transport.send<{ data: types.ChildChunk }>(request, options);
    // A proxy that compresses makes the ETag weak, and a weak one never matches. The text is the same.
    return { ...body.data, etag: (headers.get('etag') ?? '').replace(/^W\//, '') };
  }
}
