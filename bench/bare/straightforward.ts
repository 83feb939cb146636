import { hash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import Fastify from 'fastify';

/**
 * The straightforward design of the same pages: each request reads rows and their parts from their tables, builds objects
 * and serializes them as JSON. It is implemented with care: seven statements per page, whatever the number of messages,
 * all of them prepared and indexed.
 */

const [path = ''] = process.argv.slice(2);
const db = new DatabaseSync(path, { readOnly: true });

type Row = Record<string, unknown>;
type Query = { conversation_id: string; user: string; first_id: string; limit: number };

const findKey = db.prepare('SELECT app_id, mode FROM api_keys WHERE digest = ?');
const findConversation = db.prepare('SELECT id FROM conversations WHERE id = ? AND app_id = ? AND "user" = ?');
const findMessage = db.prepare('SELECT created_at FROM messages WHERE id = ? AND conversation_id = ?');
const findMessages = db.prepare(`
  SELECT m.*, f.rating FROM messages m LEFT JOIN feedbacks f ON f.message_id = m.id
  WHERE m.conversation_id = ? AND m.created_at < ? ORDER BY m.created_at DESC LIMIT ?`);
const findParts = (table: string) =>
  db.prepare(`SELECT * FROM ${table} WHERE message_id IN (SELECT value FROM json_each(?))`);
const findFiles = findParts('message_files');
const findResources = findParts('retriever_resources');
const findThoughts = findParts('agent_thoughts');

function messagesBefore(conversation_id: string, created_at: number, limit: number) {
  const foundRows = findMessages.all(conversation_id, created_at, limit + 1) as Row[];
  const rows = foundRows.slice(0, limit);
  const ids = JSON.stringify(rows.map(({ id }) => id));
  const byMessage = (parts: Row[]) => Map.groupBy(parts, ({ message_id }) => message_id);
  const [files, resources, thoughts] = [
    byMessage(findFiles.all(ids)),
    byMessage(findResources.all(ids)),
    byMessage(findThoughts.all(ids)),
  ];
  const data = rows.map(({ rating, inputs, extra_contents, ...row }) => ({
    ...row,
    inputs: JSON.parse(inputs as string),
    message_files: (files.get(row.id) ?? []).map(({ doc }) => JSON.parse(doc as string)),
    feedback: rating === null ? null : { rating },
    retriever_resources: resources.get(row.id) ?? [],
    agent_thoughts: (thoughts.get(row.id) ?? []).map(({ doc }) => JSON.parse(doc as string)),
    extra_contents: JSON.parse(extra_contents as string),
    total_tokens: (row.message_tokens as number) + (row.answer_tokens as number),
  }));
  return { limit, has_more: foundRows.length > limit, data };
}

const app = Fastify();

const querystring = {
  type: 'object',
  required: ['conversation_id', 'user', 'first_id'],
  properties: {
    conversation_id: { type: 'string' },
    user: { type: 'string' },
    first_id: { type: 'string' },
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  },
};

app.get<{ Querystring: Query }>('/v1/messages', { schema: { querystring } }, async (request, reply) => {
  const secret = /^bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  const key = findKey.get(hash('sha256', secret)) as { app_id: string; mode: string } | undefined;
  if (key === undefined) return reply.code(401).send();
  const { conversation_id, user, first_id, limit } = request.query;
  if (findConversation.get(conversation_id, key.app_id, user) === undefined) return reply.code(404).send();
  const first = findMessage.get(first_id, conversation_id);
  if (first === undefined) return reply.code(404).send();
  return messagesBefore(conversation_id, first.created_at as number, limit);
});

console.log(`listening at ${await app.listen({ port: 0, host: '127.0.0.1' })}`);
