import type { FastifyReply } from 'fastify';
import { type ChildChunk, ChildChunkAnswer, ChildChunkEdit, ChildChunkPath } from '../contract/child-chunk.ts';
import { ByTurns } from '../domain/by-turns.ts';
import type { Versioned } from '../domain/store.ts';
import { findChildChunk, updateChildChunk } from '../domain/update-child-chunk.ts';
import { callerOf } from './bearer.ts';
import { requireContentType } from './body.ts';
import { heldTags, preconditionOf, revalidate } from './etag.ts';
import { answers, header } from './openapi.ts';
import type { Routes } from './routes.ts';

const url = '/v1/datasets/:dataset_id/documents/:document_id/segments/:segment_id/child_chunks/:child_chunk_id';
const about = { tags: ['Knowledge'], security: [{ knowledgeKey: [] }], params: ChildChunkPath };

export const childChunkRoutes: Routes = (app, { store, bearer, clock }) => {
  // A commit ends many at once, and so they come again, all together: reads would wait for a whole crowd.
  const edits = new ByTurns();
  app.route({
    method: 'PATCH',
    url,
    schema: {
      ...about,
      operationId: 'updateChildChunk',
      summary: 'Update Child Chunk',
      description:
        'Replaces the text of a child chunk. The replaced text is kept as a revision. `If-Match` with the `ETag` of an ' +
        'earlier answer refuses to overwrite a text that the caller has not seen. 200 means that it is on disk.',
      headers: header('if-match', 'Tags of texts that may be replaced, or `*`.'),
      body: ChildChunkEdit,
      response: answers({ 200: ChildChunkAnswer }, [400, 401, 404, 408, 412, 413, 415]),
    },
    onRequest: [
      bearer.opens(['knowledge']),
      (_request, _reply, done) => edits.add(done),
      requireContentType('application/json'),
    ],
    handler: async (request, reply) => {
      const precondition = preconditionOf(request.headers['if-match']);
      const now = Math.floor(clock() / 1000);
      const caller = callerOf(request, 'knowledge');
      const { content } = request.body;
      return sendChunk(reply, await updateChildChunk(store, caller, request.params, content, precondition, now));
    },
  });

  app.route({
    method: 'GET',
    url,
    schema: {
      ...about,
      operationId: 'getChildChunk',
      summary: 'Get Child Chunk',
      description: 'The child chunk as it stands, with its `ETag`.',
      headers: header('if-none-match', 'Tags of chunks that the caller holds.'),
      response: answers({ 200: ChildChunkAnswer, 304: 'The chunk that the caller holds is current.' }, [401, 404]),
    },
    onRequest: bearer.opens(['knowledge']),
    handler: async (request, reply) => {
      const found = await findChildChunk(store, callerOf(request, 'knowledge'), request.params);
      if (!heldTags(request.headers['if-none-match'])?.holds(found.version)) return sendChunk(reply, found);
      return reply.code(304).header('etag', `"${found.version}"`).header('cache-control', revalidate).send();
    },
  });
};

function sendChunk(reply: FastifyReply, { chunk, version }: Versioned<ChildChunk>): FastifyReply {
  return reply.header('etag', `"${version}"`).header('cache-control', revalidate).send({ data: chunk });
}
