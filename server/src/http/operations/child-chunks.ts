import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { type ChildChunk, ChildChunkAnswer, ChildChunkEdit, ChildChunkPath } from '../../contract/child-chunk.ts';
import type { CallerOf } from '../../domain/caller.ts';
import { asKnowledge } from '../../domain/find-knowledge.ts';
import type { Versioned } from '../../domain/store.ts';
import { TurnQueue } from '../../domain/turn-queue.ts';
import { findChildChunk, updateChildChunk } from '../../domain/update-child-chunk.ts';
import { callerOf } from '../auth/bearer.ts';
import { aboutAdmin, header, responses } from '../openapi/openapi.ts';
import { requireContentType } from '../request/body.ts';
import { heldTags, preconditionOf, revalidate } from '../request/etag.ts';
import type { App, Parts, Routes } from '../route-types.ts';

const path = 'datasets/:dataset_id/documents/:document_id/segments/:segment_id/child_chunks/:child_chunk_id';

/** One of the two doors to a child chunk: knowledge keys and admins come by different paths, and find the same. */
type ChunkApi = {
  url: string;
  about: { tags: string[]; security: Record<string, string[]>[] };
  /** Ends the names of the operations. */
  by: string;
  /** What they are about, in their summaries. */
  what: string;
  opens: onRequestHookHandler;
  callerOf: (request: FastifyRequest, dataset_id: string) => Promise<CallerOf<'knowledge'>>;
};

export const childChunkRoutes: Routes = (app, parts) => {
  const { store, bearer } = parts;
  // A commit ends many at once, and so they come again, all together: reads would wait for a whole crowd.
  const edits = new TurnQueue();
  chunkRoutes(app, parts, edits, {
    url: `/v1/${path}`,
    about: { tags: ['Knowledge'], security: [{ knowledgeKey: [] }] },
    by: '',
    what: 'Child Chunk',
    opens: bearer.requireKey(['knowledge']),
    callerOf: async (request) => callerOf(request, 'knowledge'),
  });
  chunkRoutes(app, parts, edits, {
    url: `/admin/${path}`,
    about: aboutAdmin,
    by: 'AsAdmin',
    what: 'any child chunk',
    opens: bearer.requireAdmin(),
    callerOf: (request, dataset_id) => asKnowledge(store, callerOf(request, 'admin'), dataset_id),
  });
};

function chunkRoutes(
  app: App,
  { store, clock }: Parts,
  edits: TurnQueue,
  { url, about, by, what, opens, callerOf }: ChunkApi,
): void {
  app.route({
    method: 'PATCH',
    url,
    schema: {
      ...about,
      params: ChildChunkPath,
      operationId: `updateChildChunk${by}`,
      summary: `Update ${what}`,
      description:
        'Replaces the text of a child chunk. The replaced text is kept as a revision. `If-Match` with the `ETag` of an ' +
        'earlier answer refuses to overwrite a text that the caller has not seen. 200 means that it is on disk.',
      headers: header('if-match', 'Tags of texts that may be replaced, or `*`.'),
      body: ChildChunkEdit,
      response: responses({ 200: ChildChunkAnswer }, [400, 401, 404, 408, 412, 413, 415]),
    },
    onRequest: [opens, (_request, _reply, done) => edits.add(done), requireContentType('application/json')],
    handler: async (request, reply) => {
      const { params } = request;
      const precondition = preconditionOf(request.headers['if-match']);
      const now = Math.floor(clock() / 1000);
      const caller = await callerOf(request, params.dataset_id);
      const { content } = request.body;
      return sendChunk(reply, await updateChildChunk(store, caller, params, content, precondition, now));
    },
  });

  app.route({
    method: 'GET',
    url,
    schema: {
      ...about,
      params: ChildChunkPath,
      operationId: `getChildChunk${by}`,
      summary: `Get ${what}`,
      description: 'The child chunk as it stands, with its `ETag`.',
      headers: header('if-none-match', 'Tags of chunks that the caller holds.'),
      response: responses({ 200: ChildChunkAnswer, 304: 'The chunk that the caller holds is current.' }, [401, 404]),
    },
    onRequest: opens,
    handler: async (request, reply) => {
      const { params } = request;
      const found = await findChildChunk(store, await callerOf(request, params.dataset_id), params);
      if (!heldTags(request.headers['if-none-match'])?.matchesTag(found.version)) return sendChunk(reply, found);
      return reply.code(304).header('etag', `"${found.version}"`).header('cache-control', revalidate).send();
    },
  });
}

function sendChunk(reply: FastifyReply, { chunk, version }: Versioned<ChildChunk>): FastifyReply {
  return reply.header('etag', `"${version}"`).header('cache-control', revalidate).send({ data: chunk });
}
