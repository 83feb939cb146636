import type { FastifyReply, onRequestHookHandler } from 'fastify';
import type { TUnsafe } from 'typebox';
import * as contract from '../../contract/child-chunk.ts';
import { Type } from '../../contract/type.ts';
import type { CallerOf } from '../../domain/caller.ts';
import { asKnowledgeCaller } from '../../domain/knowledge/path.ts';
import * as chunks from '../../domain/knowledge/update-child-chunk.ts';
import type { Versioned } from '../../domain/store/child-chunks.ts';
import type { Store } from '../../domain/store/store.ts';
import { TickQueue } from '../../domain/tick-queue.ts';
import { header } from '../openapi/openapi.ts';
import { operation } from '../operation.ts';
import { parseIfMatch, parseIfNoneMatch, revalidate } from '../request/etag.ts';
import { type Routes, together } from '../route-types.ts';

const listPath = 'datasets/:dataset_id/documents/:document_id/segments/:segment_id/child_chunks';
const path = `${listPath}/:child_chunk_id`;

// One commit completes many edits, and their clients send the next ones together. The queue lets reads run in between.
const edits = new TickQueue();
const queued: onRequestHookHandler = (_request, _reply, done) => edits.add(done);

/**
 * One of the two APIs of child chunks: for knowledge keys and for admins. They differ only in their paths and keys, the suffix of
 * their operation ids, and the noun for a child chunk in their summaries.
 */
const chunkRoutes = <K extends 'knowledge' | 'admin'>(
  kind: K,
  url: string,
  [suffix, noun]: [suffix: string, noun: string],
  body: TUnsafe<contract.ReviewedChunkEdit>,
  knowledgeCaller: (store: Store, caller: CallerOf<K>, dataset_id: string) => Promise<CallerOf<'knowledge'>>,
): Routes =>
  together(
    operation(`updateChildChunk${suffix}`, [kind], 'PATCH', url, {
      params: contract.ChildChunkPath,
      summary: `Update ${noun}`,
      description:
        'Replaces the text of a child chunk. The replaced text is stored as a revision. Send the `ETag` of an earlier ' +
        'response in `If-Match` to avoid overwriting a newer edit. 200 means that the text is on disk.',
      headers: header('if-match', 'ETags of texts that may be replaced, or `*`.'),
      body,
      response: contract.ChildChunkResponse,
      errors: [404, 412],
      onRequest: [queued],
      run: async ({ params, body: { content, review_message_id }, caller, now, store, dependencies }, reply) => {
        const reviewed = kind === 'admin' ? { review_message_id: review_message_id?.toLowerCase() } : {};
        const edit = { content, precondition: parseIfMatch(reply.request.headers['if-match']), ...reviewed };
        const editor = await knowledgeCaller(store, caller, params.dataset_id);
        // A request with a knowledge key of the owner was passed on to it.
        const owned = kind === 'admin' ? dependencies.owned?.changes : undefined;
        return sendChunk(reply, await chunks.updateChildChunk({ store, caller: editor, now }, owned, params, edit));
      },
    }),
    operation(`getChildChunk${suffix}`, [kind], 'GET', url, {
      params: contract.ChildChunkPath,
      summary: `Get ${noun}`,
      description: 'The current child chunk, with its `ETag`.',
      headers: header('if-none-match', 'ETags of chunks that the client has cached.'),
      response: contract.ChildChunkResponse,
      unchanged: "The client's cached chunk is current.",
      run: async ({ params, caller, store }, reply) => {
        const reader = await knowledgeCaller(store, caller, params.dataset_id);
        const storedChunk = await chunks.findChildChunk({ store, caller: reader }, params);
        const clientTags = parseIfNoneMatch(reply.request.headers['if-none-match']);
        if (!clientTags?.matchesTag(storedChunk.version)) return sendChunk(reply, storedChunk);
        return reply.code(304).header('etag', `"${storedChunk.version}"`).header('cache-control', revalidate).send();
      },
    }),
  );

export const childChunkRoutes = together(
  chunkRoutes(
    'knowledge',
    `/v1/${path}`,
    ['', 'Child Chunk'],
    Type.Unsafe(contract.ChildChunkEdit),
    async (_, caller) => caller,
  ),
  chunkRoutes(
    'admin',
    `/admin/${path}`,
    ['AsAdmin', 'any child chunk'],
    Type.Unsafe(contract.ReviewedChunkEdit),
    asKnowledgeCaller,
  ),
  operation('createChildChunk', ['knowledge'], 'POST', `/v1/${listPath}`, {
    params: contract.SegmentPath,
    summary: 'Create Child Chunk',
    description:
      'Adds a child chunk at the end of a segment. 200 means that it is on disk. Sending the request again adds ' +
      'another one.',
    body: contract.ChildChunkEdit,
    response: contract.ChildChunkResponse,
    onRequest: [queued],
    run: async (request, reply) =>
      sendChunk(reply, await chunks.createChildChunk(request, request.params, request.body.content)),
  }),
  operation('deleteChildChunk', ['knowledge'], 'DELETE', `/v1/${path}`, {
    params: contract.ChildChunkPath,
    summary: 'Delete Child Chunk',
    description:
      'Deletes a child chunk. Its record stays, with `deleted: true`: importing it with `deleted: false` restores it. ' +
      '204 means that the deletion is on disk.',
    headers: header('if-match', 'ETags of texts that may be deleted, or `*`.'),
    response: 'Deleted.',
    errors: [404, 412],
    onRequest: [queued],
    run: (call, { request }) => chunks.deleteChildChunk(call, call.params, parseIfMatch(request.headers['if-match'])),
  }),
);

function sendChunk(reply: FastifyReply, { chunk, version }: Versioned<contract.ChildChunk>): FastifyReply {
  return reply.header('etag', `"${version}"`).header('cache-control', revalidate).send({ data: chunk });
}
