import { InvalidParam, MethodNotAllowed, NotFound } from './errors.ts';
import type { CallOptions } from './options.ts';
import { conversationPath, messagePath, storedMessagePath } from './paths.ts';
import type { ConversationDeletion, MessageFeedback, MessagePath, PurgeSelection } from './requests.ts';
import type { Transport } from './transport.ts';
import type { Purged } from './types.ts';

/** Writes whose retries have rules of their own: see decision 0021. */

export async function deleteConversation(
  transport: Transport,
  { conversation_id, user }: ConversationDeletion,
  options: CallOptions,
): Promise<void> {
  const body = user === undefined ? undefined : { user };
  // The list exists, so this is the API, and it is the conversation that does not.
  const isDone = (error: Error) => error instanceof NotFound && transport.finds('/conversations', options);
  await transport.send({ method: 'DELETE', path: conversationPath(conversation_id), body, isDone }, options);
}

export async function rate(
  transport: Transport,
  { message_id, ...body }: MessageFeedback,
  options: CallOptions,
): Promise<void> {
  const requestFor = (id: string) => ({ method: 'POST', path: `${messagePath(id)}/feedbacks`, body }) as const;
  // All invalid fields have the same code. With valid fields, a message that does not exist is not found.
  const isDone = async (error: Error) =>
    body.rating === null &&
    error instanceof InvalidParam &&
    !(await transport.isFound(requestFor(globalThis.crypto.randomUUID()), options));
  await transport.send({ ...requestFor(message_id), isDone }, options);
}

export async function purge(transport: Transport, selection: PurgeSelection, options: CallOptions): Promise<Purged> {
  const request = { method: 'POST', path: '/admin/purge', body: selection } as const;
  return (await transport.send<Purged>(request, { ...options, retries: 0 })).body;
}

export async function deleteMessage(transport: Transport, path: MessagePath, options: CallOptions): Promise<void> {
  const request = { path: storedMessagePath(path) };
  // The path exists without GET, so this is the API, and it is the message that does not exist.
  const hasPath = () =>
    transport.send({ method: 'GET', ...request }, options).then(
      () => false,
      (error: Error) => error instanceof MethodNotAllowed,
    );
  const isDone = (error: Error) => error instanceof NotFound && hasPath();
  await transport.send({ method: 'DELETE', ...request, isDone }, options);
}
