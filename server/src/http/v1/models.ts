import { ModelListing, modelTypes } from '../../contract/model.ts';
import { choice } from '../../contract/primitives.ts';
import { Type } from '../../contract/type.ts';
import { listModels } from '../../domain/messages/list-models.ts';
import { responses } from '../openapi/openapi.ts';
import { sendJson } from '../response/large-page.ts';
import { onDisconnect } from '../response/message-page.ts';
import type { Routes } from '../route-types.ts';

export const modelRoutes: Routes = (app, { store, bearer }) => {
  app.route({
    method: 'GET',
    url: '/v1/workspaces/current/models/model-types/:model_type',
    schema: {
      operationId: 'getAvailableModels',
      summary: 'Get Available Models',
      description: "Active providers of the key's workspace with their active models of one type.",
      tags: ['Models'],
      security: [{ appKey: [] }, { knowledgeKey: [] }],
      params: Type.Object({ model_type: choice(modelTypes, 'Model type.') }),
      response: responses({ 200: ModelListing }, [400, 401]),
    },
    onRequest: bearer.requireKey(['app', 'knowledge']),
    handler: async (request, reply) => {
      const { caller } = request;
      if (caller === null || !('workspace_id' in caller)) throw new Error('keys of these kinds have a workspace');
      const disconnected = () => onDisconnect(reply.raw);
      return sendJson(reply, await listModels(store, caller.workspace_id, request.params.model_type, disconnected));
    },
  });
};
