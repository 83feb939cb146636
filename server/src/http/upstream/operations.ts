import type { FastifyRequest } from 'fastify';
import type { ChangedObject } from '../../domain/owner.ts';
import { decodeAll } from './path.ts';
import type { Asked } from './who-responds.ts';

export const prefix = '/v1';
/** The route of operations that this server does not have. */
export const otherUrl = `${prefix}/*`;

/** They have values that do not come from the owner of the data. */
const partlyConstant = ['info', 'parameters', 'meta', 'site', 'workspaces/current/models/model-types/:model_type'];

export function operationOf(url: string): Asked['operation'] {
  if (url === otherUrl) return 'other';
  return partlyConstant.includes(url.slice(prefix.length + 1)) ? 'partly constant' : 'stored';
}

const answers = [`${prefix}/chat-messages`, `${prefix}/completion-messages`];

/** Whether a request generates a message. */
export const isAnswer = ({ method, url }: FastifyRequest): boolean =>
  method === 'POST' && answers.includes(decodeAll(url.split('?', 1)[0] as string));

/** GET and HEAD. */
export const isRead = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD';

/** The app whose records an operation outside `/v1` writes, or whose name. */
export function appWrittenBy(request: FastifyRequest): string | undefined {
  const { caller, params, body, routeOptions } = request;
  const operation = routeOptions.schema?.operationId ?? '';
  if (operation === 'updateApp' && (body as { name?: string }).name !== undefined) {
    return (params as { app_id: string }).app_id;
  }
  const isWrite = operation === 'importRecords' || (operation.startsWith('openai') && !isRead(request));
  return isWrite && caller && 'app' in caller ? caller.app.id : undefined;
}

/** Codes of errors of Dify's that come before a message exists. */
const earlyErrors: readonly unknown[] = ['invalid_param', 'bad_request', 'not_chat_app', 'app_unavailable'];

/** Whether a request for an answer may have left a message, although it got an error with this body. */
export const mayHaveFailedLate = (status: number, { code }: Record<string, unknown>): boolean =>
  (status === 400 || status >= 500) && !earlyErrors.includes(code);

/** What a write of one of our routes has changed. `body` is that of its response. */
export function changedBy({ params }: FastifyRequest, scope: string, body: Record<string, unknown>): ChangedObject {
  const { conversation_id, message_id, dataset_id, child_chunk_id } = params as Record<string, string | undefined>;
  if (message_id !== undefined) return { kind: 'message', id: message_id, scope, conversation_id: '' };
  if (conversation_id !== undefined) return { kind: 'conversation', id: conversation_id, scope, conversation_id };
  const { id } = (body.data ?? {}) as { id?: string };
  return { kind: 'child_chunk', id: child_chunk_id ?? id ?? '', scope: dataset_id ?? '', conversation_id: '' };
}
