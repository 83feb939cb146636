import { ModelListing, modelTypes } from '../../contract/model.ts';
import { choice } from '../../contract/primitives.ts';
import { Type } from '../../contract/type.ts';
import { listModels } from '../../domain/messages/list-models.ts';
import { keyGet } from '../operation.ts';

const url = '/v1/workspaces/current/models/model-types/:model_type';

export const modelRoutes = keyGet('getAvailableModels', ['app', 'knowledge'], url, {
  tags: ['Models'],
  summary: 'Get Available Models',
  description: "Active providers of the key's workspace with their active models of one type.",
  params: Type.Object({ model_type: choice(modelTypes, 'Model type.') }),
  response: ModelListing,
  errors: [400],
  read: (request) => listModels(request, request.params.model_type),
});
