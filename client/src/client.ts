import { Aborted } from './errors.ts';
import { type CallOptions, Transport, type TransportOptions } from './transport.ts';
import type {
  ChildChunk,
  GetAvailableModelsPath,
  GetChildChunkPath,
  GetConversationHistoryQuery,
  Message,
  MessagePage,
  ModelProvider,
} from './types.ts';

export type BackscrollOptions = TransportOptions;
export type ListMessagesQuery = GetConversationHistoryQuery;
/** `limit` is the size of the pages; the history starts with the message before `first_id`. */
export type HistoryQuery = Omit<GetConversationHistoryQuery, 'page_order'>;
export type ChildChunkPath = GetChildChunkPath;
export type ChildChunkEdit = ChildChunkPath & { content: string };
/** A child chunk and the ETag of its text. */
export type TaggedChildChunk = ChildChunk & { etag: string };
/** The conversation that messages are appended to. A field that is left out keeps its stored value. */
export type AppendedConversation = { id: string; app_id: string } & Record<string, unknown>;
/** A message to append. Without an `id` it gets a new one. See the fields of a message record. */
export type AppendedMessage = { id?: string; query: string; answer: string } & Record<string, unknown>;
export type Append = { conversation: AppendedConversation; messages: readonly AppendedMessage[] };
export type ModelType = GetAvailableModelsPath['model_type'];
export type UpdateOptions = CallOptions & {
  /** Replace the text only if it is the one with this `etag`; otherwise `PreconditionFailed`. */
  ifMatch?: string | undefined;
};

/** A client of a Backscroll service, with one key. */
export class Backscroll {
  readonly #transport: Transport;

  constructor(options: BackscrollOptions) {
    this.#transport = new Transport(options);
  }

  /** One page of a conversation. For all pages, see `history`. Requires an app key. */
  async listMessages(query: ListMessagesQuery, options: CallOptions = {}): Promise<MessagePage> {
    const path = `/messages?${searchOf(query)}`;
    return (await this.#transport.send<MessagePage>({ method: 'GET', path }, options)).body;
  }

  /**
   * All messages of a conversation from the newest to the oldest, each once, even if messages are added meanwhile. The
   * next page is requested in advance; leaving the loop aborts that request. Requires an app key.
   */
  async *history(query: HistoryQuery, options: CallOptions = {}): AsyncGenerator<Message, void, undefined> {
    const { signal } = options;
    const loop = new AbortController();
    const abort = () => loop.abort(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort);
    const load = (first_id: string | undefined): Promise<MessagePage> => {
      const pageQuery = { ...query, limit: query.limit ?? 100, first_id, page_order: 'newest_first' as const };
      const page = this.listMessages(pageQuery, { ...options, signal: loop.signal });
      // A failure is thrown when the loop reaches the page, and not at all if the loop ends before.
      page.catch(() => undefined);
      return page;
    };
    try {
      let next: Promise<MessagePage> | undefined = load(query.first_id);
      while (next !== undefined) {
        const { data, has_more }: MessagePage = await next;
        const oldest = data.at(-1);
        next = has_more && oldest ? load(oldest.id) : undefined;
        for (const message of data) {
          if (signal?.aborted) throw new Aborted('the history was aborted', { cause: signal.reason });
          yield message;
        }
      }
    } finally {
      signal?.removeEventListener('abort', abort);
      loop.abort();
    }
  }

  /** The current child chunk. Requires a knowledge key. */
  async getChildChunk(path: ChildChunkPath, options: CallOptions = {}): Promise<TaggedChildChunk> {
    return this.#chunk({ method: 'GET', path: pathOf(path) }, options);
  }

  /**
   * Replaces the text of a child chunk; when it returns, the text is on disk. With `ifMatch` it does not overwrite a text
   * that the caller has not read. Safe to repeat, and repeated if the response was lost. Requires a knowledge key.
   */
  async updateChildChunk(edit: ChildChunkEdit, options: UpdateOptions = {}): Promise<TaggedChildChunk> {
    const { ifMatch, ...call } = options;
    const headers = ifMatch === undefined ? undefined : { 'if-match': ifMatch };
    return this.#chunk({ method: 'PATCH', path: pathOf(edit), headers, body: { content: edit.content } }, call);
  }

  /** Providers with their models of one type. Requires an app key or a knowledge key. */
  async listModels(model_type: ModelType, options: CallOptions = {}): Promise<ModelProvider[]> {
    const path = `/workspaces/current/models/model-types/${segmentOf('model_type', model_type)}`;
    return (await this.#transport.send<{ data: ModelProvider[] }>({ method: 'GET', path }, options)).body.data;
  }

  /**
   * Stores a conversation and messages of it; when it returns, they are on disk, and otherwise none of them is stored. Records
   * are identified by their ids, so an append that is repeated because its response was lost stores nothing twice. Returns
   * the ids of the messages. Requires a writer key.
   */
  async append({ conversation, messages }: Append, options: CallOptions = {}): Promise<string[]> {
    const withIds = messages.map((message) => ({ ...message, id: message.id ?? globalThis.crypto.randomUUID() }));
    const body = [
      { ...conversation, record: 'conversation' },
      ...withIds.map((message) => ({ ...message, record: 'message', conversation_id: conversation.id })),
    ];
    await this.#transport.send({ method: 'POST', path: '/admin/records', body }, options);
    return withIds.map(({ id }) => id);
  }

  async #chunk(request: Parameters<Transport['send']>[0], options: CallOptions): Promise<TaggedChildChunk> {
    const { body, headers } = await this.#transport.send<{ data: ChildChunk }>(request, options);
    // A proxy that compresses makes the ETag weak, and a weak one never matches. The text is the same.
    return { ...body.data, etag: (headers.get('etag') ?? '').replace(/^W\//, '') };
  }
}

function searchOf(query: Record<string, string | number | undefined>): URLSearchParams {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
}

function pathOf({ dataset_id, document_id, segment_id, child_chunk_id }: ChildChunkPath): string {
  const chunk = `${segmentOf('segment_id', segment_id)}/child_chunks/${segmentOf('child_chunk_id', child_chunk_id)}`;
  return `/datasets/${segmentOf('dataset_id', dataset_id)}/documents/${segmentOf('document_id', document_id)}/segments/${chunk}`;
}

/** One part of a path. `.` and `..` would lead to another path. */
function segmentOf(name: string, id: string): string {
  if (typeof id !== 'string' || /^\.{0,2}$/.test(id)) throw new TypeError(`${name} must be an id`);
  return encodeURIComponent(id);
}
