import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { answer, type Question, stopAnswer } from './answer.ts';
import { Rejection } from './rejection.ts';
import { settings } from './settings.ts';

/**
 * An upstream for Backscroll that generates answers with any model behind an endpoint that is compatible with OpenAI's. It has
 * no state but the answers in progress.
 */

const bodyBytesMax = 1024 * 1024;

const server = http.createServer((request, response) => {
  serve(request, response).catch((error: unknown) => {
    const rejection = error instanceof Rejection ? error : new Rejection(500, 'internal_server_error', 'failed');
    if (rejection !== error) console.error(error);
    if (response.headersSent) response.destroy();
    else respond(response, rejection.body.status, rejection.body);
  });
});
server.listen(settings.port, settings.host, () => {
  const { port } = server.address() as AddressInfo;
  console.log(`the chat upstream is running: UPSTREAM_URL=http://${settings.host}:${port}/v1`);
});
// Answers in progress are finished, also those that no client waits for.
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => server.close());

async function serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  const route = /^\/v1\/chat-messages(?:\/([^/?]+)\/stop)?(?:\?|$)/.exec(request.url ?? '');
  if (request.method !== 'POST' || route === null) throw new Rejection(404, 'not_found', 'no such route');
  // Backscroll has checked the key, and removes headers of clients that begin with X-Backscroll-.
  const app_id = request.headers['x-backscroll-app-id'];
  if (typeof app_id !== 'string') throw new Rejection(401, 'unauthorized', 'a key of an app is required');
  const key = request.headers.authorization?.replace(/^Bearer\s+/i, '') ?? '';
  const body = await readBody(request);
  const task_id = route[1];
  if (task_id !== undefined) {
    stopAnswer(task_id, app_id, body.user);
    return respond(response, 200, { result: 'success' });
  }
  const question = readQuestion(body);
  if (body.response_mode !== 'streaming') return respond(response, 200, await answer({ app_id, key }, question));
  const write = (text: string) => {
    if (response.destroyed) return;
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    response.write(text);
  };
  await answer({ app_id, key }, question, write);
  response.end();
}

async function readBody(request: http.IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= bodyBytesMax) chunks.push(chunk);
  }
  if (bytes > bodyBytesMax) throw new Rejection(413, 'payload_too_large', 'the body is too large');
  try {
    return Object(JSON.parse(Buffer.concat(chunks).toString()));
  } catch {
    throw new Rejection(400, 'bad_request', 'the body must be JSON');
  }
}

function readQuestion({ query, user, inputs, conversation_id, files }: Record<string, unknown>): Question {
  const require = (isValid: boolean, message: string) => {
    if (!isValid) throw new Rejection(400, 'invalid_param', message);
  };
  require(typeof query === 'string' && query !== '', 'query is required');
  require(typeof user === 'string' && user !== '', 'user is required');
  require(!Array.isArray(files) || files.length === 0, 'files are not supported');
  return {
    query: String(query),
    user: String(user),
    inputs: Object(inputs ?? {}),
    conversation_id: String(conversation_id ?? ''),
  };
}

function respond(response: http.ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
