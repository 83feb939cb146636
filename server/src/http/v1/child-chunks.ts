import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import {
  type ChildChunk,
  ChildChunkEdit,
  ChildChunkPath,
  ChildChunkResponse,
  SegmentPath,
} from '../../contract/child-chunk.ts';
import type { CallerOf } from '../../domain/caller.ts';
import { asKnowledgeCaller } from '../../domain/knowledge/path.ts';
import {
  createChildChunk,
  deleteChildChunk,
  findChildChunk,
  updateChildChunk,
} from '../../domain/knowledge/update-child-chunk.ts';
import type { Versioned } from '../../domain/store/child-chunks.ts';
import { TickQueue } from '../../domain/tick-queue.ts';
import { requireCaller } from '../auth/bearer.ts';
import { aboutAdmin, header, responses } from '../openapi/openapi.ts';
import { requireContentType } from '../request/body.ts';
import { parseIfMatch, parseIfNoneMatch, revalidate } from '../request/etag.ts';
import type { App, Dependencies, Routes } from '../route-types.ts';

const listPath = 'datasets/:dataset_id/documents/:document_id/segments/:segment_id/child_chunks';
const path = `${listPath}/:child_chunk_id`;

/** One of the two APIs of child chunks: for knowledge keys and for admins. They differ only in their paths and keys. */
type ChunkApi = {
  url: string;
  about: { tags: string[]; security: Record<string, string[]>[] };
  /** Whether the caller has no key of the owner of the data. */
  isAdmin: boolean;
  /** The suffix of the operation ids. */
  suffix: string;
  /** The noun for a child chunk in the summaries. */
  noun: string;
  requireKey: onRequestHookHandler;
  knowledgeCaller: (request: FastifyRequest, dataset_id: string) => Promise<CallerOf<'knowledge'>>;
};

const aboutKnowledge = { tags: ['Knowledge'], security: [{ knowledgeKey: [] }] };

export const childChunkRoutes: Routes = (app, dependencies) => {
  const { store, bearer } = dependencies;
  const requireKey = bearer.requireKey(['knowledge']);
  // One commit completes many edits, and their clients send the next ones together. The queue lets reads run in between.
  const edits = new TickQueue();
  chunkRoutes(app, dependencies, edits, {
    url: `/v1/${path}`,
    about: aboutKnowledge,
    isAdmin: false,
    suffix: '',
    noun: 'Child Chunk',
    requireKey,
    knowledgeCaller: async (request) => requireCaller(request, 'knowledge'),
  });
  chunkRoutes(app, dependencies, edits, {
    url: `/admin/${path}`,
    about: aboutAdmin,
    isAdmin: true,
    suffix: 'AsAdmin',
    noun: 'any child chunk',
    requireKey: bearer.requireAdmin(),
    knowledgeCaller: (request, dataset_id) => asKnowledgeCaller(store, requireCaller(request, 'admin'), dataset_id),
  });
  addAndDeleteRoutes(app, dependencies, edits, requireKey);
};

function chunkRoutes(
  app: App,
  { store, clock, owned }: Dependencies,
  edits: TickQueue,
  { url, about, isAdmin, suffix, noun, requireKey, knowledgeCaller }: ChunkApi,
): void {
  app.route({
    method: 'PATCH',
    url,
    schema: {
      ...about,
      params: ChildChunkPath,
      operationId: `updateChildChunk${suffix}`,
      summary: `Update ${noun}`,
      description:
        'Replaces the text of a child chunk. The replaced text is stored as a revision. Send the `ETag` of an earlier ' +
        'response in `If-Match` to avoid overwriting a newer edit. 200 means that the text is on disk.',
      headers: header('if-match', 'ETags of texts that may be replaced, or `*`.'),
      body: ChildChunkEdit,
      response: responses({ 200: ChildChunkResponse }, [400, 401, 403, 404, 408, 412, 413, 415]),
    },
    onRequest: [requireKey, (_request, _reply, done) => edits.add(done), requireContentType('application/json')],
    handler: async (request, reply) => {
      const { params } = request;
      const precondition = parseIfMatch(request.headers['if-match']);
      const now = Math.floor(clock() / 1000);
      const caller = await knowledgeCaller(request, params.dataset_id);
      const { content } = request.body;
      const edit = { content, precondition, now };
      // A request with a knowledge key of the owner was passed on to it.
      return sendChunk(reply, await updateChildChunk(store, isAdmin ? owned : undefined, caller, params, edit));
    },
  });

  app.route({
    method: 'GET',
    url,
    schema: {
      ...about,
      params: ChildChunkPath,
      operationId: `getChildChunk${suffix}`,
      summary: `Get ${noun}`,
      description: 'The current child chunk, with its `ETag`.',
      headers: header('if-none-match', 'ETags of chunks that the client has cached.'),
      response: responses({ 200: ChildChunkResponse, 304: "The client's cached chunk is current." }, [401, 404]),
    },
    onRequest: requireKey,
    handler: async (request, reply) => {
      const { params } = request;
      const caller = await knowledgeCaller(request, params.dataset_id);
      const storedChunk = await findChildChunk(store, caller, params);
      const clientTags = parseIfNoneMatch(request.headers['if-none-match']);
      if (!clientTags?.matchesTag(storedChunk.version)) return sendChunk(reply, storedChunk);
      return reply.code(304).header('etag', `"${storedChunk.version}"`).header('cache-control', revalidate).send();
    },
  });
}

function addAndDeleteRoutes(
  app: App,
  { store, clock }: Dependencies,
  edits: TickQueue,
  requireKey: onRequestHookHandler,
): void {
  app.route({
    method: 'POST',
    url: `/v1/${listPath}`,
    schema: {
      ...aboutKnowledge,
      params: SegmentPath,
      operationId: 'createChildChunk',
      summary: 'Create Child Chunk',
      description:
        'Adds a child chunk at the end of a segment. 200 means that it is on disk. Sending the request again adds ' +
        'another one.',
      body: ChildChunkEdit,
      response: responses({ 200: ChildChunkResponse }, [400, 401, 403, 404, 408, 413, 415]),
    },
    onRequest: [requireKey, (_request, _reply, done) => edits.add(done), requireContentType('application/json')],
    handler: async (request, reply) => {
      const caller = requireCaller(request, 'knowledge');
      const now = Math.floor(clock() / 1000);
      return sendChunk(reply, await createChildChunk(store, caller, request.params, request.body.content, now));
    },
  });

  app.route({
    method: 'DELETE',
    url: `/v1/${path}`,
    schema: {
      ...aboutKnowledge,
      params: ChildChunkPath,
      operationId: 'deleteChildChunk',
      summary: 'Delete Child Chunk',
      description:
        'Deletes a child chunk. Its record stays, with `deleted: true`: importing it with `deleted: false` restores it. ' +
        '204 means that the deletion is on disk.',
      headers: header('if-match', 'ETags of texts that may be deleted, or `*`.'),
      response: responses({ 204: 'Deleted.' }, [401, 403, 404, 412]),
    },
    onRequest: [requireKey, (_request, _reply, done) => edits.add(done)],
    handler: async (request, reply) => {
      const precondition = parseIfMatch(request.headers['if-match']);
      const now = Math.floor(clock() / 1000);
      await deleteChildChunk(store, requireCaller(request, 'knowledge'), request.params, precondition, now);
      return reply.code(204).send();
    },
  });
}

function sendChunk(reply: FastifyReply, { chunk, version }: Versioned<ChildChunk>): FastifyReply {
  return reply.header('etag', `"${version}"`).header('cache-control', revalidate).send({ data: chunk });
}
