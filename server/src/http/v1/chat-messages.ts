import { randomUUID } from 'node:crypto';
import { ChatMessageRequest } from '../../contract/app.ts';
import { ServiceError } from '../../domain/errors.ts';
import { requireContentType } from '../request/body.ts';
import { statusOf } from '../request/errors.ts';
import type { Routes } from '../route-types.ts';

const notImplemented = () =>
  new ServiceError(
    'not_implemented',
    'This server stores conversations; set UPSTREAM_URL to the server that generates answers',
  );

/** Without an upstream, messages cannot be sent. A front end that waits for a stream gets its error as an event. */
export const chatMessageRoutes: Routes = (app, { bearer, upstream, clock }) => {
  if (upstream !== undefined) return;
  app.route({
    method: 'POST',
    url: '/v1/chat-messages',
    // Not an operation of this service: the OpenAPI document does not list it.
    schema: { hide: true, body: ChatMessageRequest },
    onRequest: [bearer.requireKey(['app']), requireContentType('application/json')],
    handler: async ({ body }, reply) => {
      const { code, message } = notImplemented();
      if (body.response_mode !== 'streaming') throw notImplemented();
      const event = {
        event: 'error',
        task_id: randomUUID(),
        message_id: randomUUID(),
        conversation_id: body.conversation_id ?? '',
        created_at: Math.floor(clock() / 1000),
        status: statusOf(code),
        code,
        message,
        // dify-chat shows no message of an error, but the answer of any event.
        answer: message,
      };
      return reply
        .header('content-type', 'text/event-stream; charset=utf-8')
        .send(`data: ${JSON.stringify(event)}\n\n`);
    },
  });
};
