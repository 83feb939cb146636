import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { chat, conversationId, messageTime, type Shape } from './data.ts';
import { freePort } from './free-port.ts';
import { get, pageMessages, randomCursor } from './reads.ts';
import { type Server, startProgram } from './servers.ts';

/** PocketBase with the same messages in a collection, which everyone may read: its cheapest way to a page. */

const [email, password] = ['bench@example.com', 'a-password-of-the-bench'];

/** The fields of a message that it stores. */
const fields = [
  ...['conversation', 'user', 'query', 'answer', 'status', 'currency', 'total_price'].map((name) => ({
    name,
    type: 'text',
  })),
  ...['created_at', 'message_tokens', 'answer_tokens', 'provider_response_latency'].map((name) => ({
    name,
    type: 'number',
  })),
  { name: 'retriever_resources', type: 'json' },
];

export async function startPocketbase(program: string, folder: string, shape: Shape): Promise<Server> {
  const directory = `--dir=${join(folder, 'pocketbase')}`;
  const start = async () => startProgram(folder, program, ['serve', directory, `--http=127.0.0.1:${await freePort()}`]);
  await promisify(execFile)(program, ['superuser', 'upsert', email, password, directory]);
  const empty = await start();
  await createCollection(empty);
  await empty.stop();
  fill(join(folder, 'pocketbase', 'data.db'), shape);
  const server = await start();
  const [conversation, first] = randomCursor(shape);
  const response = await fetch(`http://127.0.0.1:${server.port}${pagePath(conversation, first)}`);
  const { items } = (await response.json()) as { items: object[] };
  if (items.length !== pageMessages) throw new Error(`a page of PocketBase has ${items.length} messages`);
  return server;
}

async function createCollection({ port }: Server): Promise<void> {
  const post = async (path: string, body: object, token = ''): Promise<{ token?: string }> => {
    const headers = { 'content-type': 'application/json', authorization: token };
    const request = { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(`http://127.0.0.1:${port}/api/collections${path}`, request);
    if (!response.ok) throw new Error(`PocketBase: ${response.status} ${await response.text()}`);
    return (await response.json()) as { token?: string };
  };
  const { token } = await post('/_superusers/auth-with-password', { identity: email, password });
  const indexes = ['CREATE INDEX messages_by_time ON messages (conversation, created_at)'];
  await post('', { name: 'messages', type: 'base', listRule: '', fields, indexes }, token);
}

type Values = Record<string, string | number | null>;

function fill(file: string, shape: Shape): void {
  const db = new DatabaseSync(file);
  const names = ['id', ...fields.map(({ name }) => name)];
  const insert = db.prepare(`INSERT INTO messages (${names}) VALUES (${names.map((name) => `:${name}`)})`);
  let count = 0;
  db.exec('BEGIN');
  for (const text of chat(shape)) {
    for (const line of text.trimEnd().split('\n')) {
      const { record, ...message } = JSON.parse(line) as { record: string; retriever_resources?: object[] } & Values;
      if (record !== 'message') continue;
      const { conversation_id = '', retriever_resources = [] } = message;
      const values: Values = {};
      for (const name of names) values[name] = message[name] ?? '';
      const resources = JSON.stringify(retriever_resources);
      const id = `${(count += 1)}`.padStart(15, '0');
      insert.run({ ...values, id, conversation: conversation_id, retriever_resources: resources });
    }
  }
  db.exec('COMMIT');
  db.close();
}

function pagePath(conversation: number, first: number): string {
  const condition = `conversation='${conversationId(conversation)}'&&created_at<${messageTime(first)}`;
  const query = `filter=${encodeURIComponent(condition)}&sort=-created_at&perPage=${pageMessages}&skipTotal=1`;
  return `/api/collections/messages/records?${query}`;
}

/** Requests for random full pages. */
export function randomPocketbasePages(shape: Shape): () => string {
  return () => get(pagePath(...randomCursor(shape)));
}
