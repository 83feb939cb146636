import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { command, track } from './servers.ts';

/** The data that the bench reads and writes. It is generated and the same in every run. */

export const workspace_id = uuid('workspace');
export const app_id = uuid('app');
export const appSecret = 'app-bench-secret-of-forty-characters-00001';
export const adminSecret = 'admin-bench-secret-of-forty-characters-001';
export const writerSecret = 'writer-bench-secret-of-forty-characters-01';
export const knowledgeSecret = 'dataset-bench-secret-of-forty-characters-1';

/** A UUID derived from a name. */
export function uuid(name: string): string {
  const hex = hash('sha256', name);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

export const conversationId = (at: number): string => uuid(`conversation ${at}`);
export const messageId = (conversation: number, at: number): string => uuid(`message ${conversation} ${at}`);

const startTime = 1_790_000_000;
/** When a message of a conversation was created, if all conversations began at the same time. */
export const messageTime = (at: number): number => startTime + at;
const words =
  'the grinder hums while water climbs toward ninety three degrees and a person asks again which filter fits';
const nonAsciiWords = 'Der Kaffee läuft, 水温九十三度, насос гудит; la tasse est prête ☕';

/** Prose of about this many bytes; every fourth text has non-ASCII characters. */
function prose(bytes: number, at: number): string {
  const line = `${at % 4 === 3 ? nonAsciiWords : words} (${at}).\n`;
  return line.repeat(Math.ceil(bytes / Buffer.byteLength(line)));
}

function message(conversation: number, at: number, bytes: number, secondsApart = 0): object {
  return {
    record: 'message',
    id: messageId(conversation, at),
    conversation_id: conversationId(conversation),
    query: prose(bytes / 8, at),
    answer: prose((bytes * 5) / 8, at),
    created_at: startTime + conversation * secondsApart + at,
    ...(bytes > 1_000 && { retriever_resources: [citation(conversation, at, bytes / 8)] }),
    message_tokens: 200 + (at % 50),
    answer_tokens: 300,
    provider_response_latency: 1.25,
    total_price: '0.0012890',
    currency: 'USD',
  };
}

function citation(conversation: number, at: number, bytes: number): object {
  const name = `${conversation} ${at}`;
  return {
    id: uuid(`citation ${name}`),
    message_id: messageId(conversation, at),
    position: 1,
    dataset_id: uuid('dataset'),
    dataset_name: 'Handbook',
    document_id: uuid(`document ${at % 40}`),
    document_name: 'grinder.md',
    data_source_type: 'upload_file',
    segment_id: uuid(`segment ${at % 40}`),
    score: 0.83,
    hit_count: at % 7,
    word_count: 90,
    segment_position: 3,
    index_node_hash: hash('sha256', name),
    content: prose(bytes, at),
    summary: null,
    created_at: startTime + at,
  };
}

export const baseRecords: readonly object[] = [
  { record: 'workspace', id: workspace_id, name: 'Bench' },
  { record: 'app', id: app_id, workspace_id, name: 'Bench', mode: 'chat' },
  { record: 'api_key', kind: 'app', workspace_id, app_id, name: 'bench', secret: appSecret },
  { record: 'api_key', kind: 'admin', name: 'bench', secret: adminSecret },
  { record: 'api_key', kind: 'writer', workspace_id, app_id, name: 'bench', secret: writerSecret },
  { record: 'api_key', kind: 'knowledge', workspace_id, name: 'bench', secret: knowledgeSecret },
];

/** `secondsApart`: between the beginnings of two conversations. */
export type Shape = { conversations: number; messages: number; bytes: number; secondsApart?: number };

/** Lines of records: conversations with this many messages of about this many bytes each. */
export function* chat({ conversations, messages, bytes, secondsApart }: Shape): Generator<string> {
  for (const record of baseRecords) yield `${JSON.stringify(record)}\n`;
  for (let c = 0; c < conversations; c += 1) {
    const conversation = { record: 'conversation', id: conversationId(c), app_id, user: `user-${c}` };
    let lines = `${JSON.stringify(conversation)}\n`;
    for (let m = 0; m < messages; m += 1) {
      lines += `${JSON.stringify(message(c, m, bytes, secondsApart))}\n`;
      if (lines.length < 65_536) continue;
      yield lines;
      lines = '';
    }
    yield lines;
  }
}

/** A request that adds a short message to a conversation. */
export function appendRequest(conversation: number, at: number): string {
  const ids = { id: messageId(conversation, at), conversation_id: conversationId(conversation) };
  const record = { record: 'message', ...ids, query: 'And then?', answer: 'It hums.', created_at: startTime + at };
  const body = `${JSON.stringify(record)}\n`;
  return withBody('POST', '/admin/records', writerSecret, 'application/x-ndjson', body);
}

/** A request that gives a chunk a new text. */
export function editRequest(chunk: number, edit: number): string {
  const path = `/v1/datasets/${dataset_id}/documents/${document_id}/segments/${segment_id}/child_chunks/${chunkId(chunk)}`;
  return withBody('PATCH', path, knowledgeSecret, 'application/json', JSON.stringify({ content: editText(edit) }));
}

/** ASCII only, because requests are sent as Latin-1 and their length is counted in characters. */
export const editText = (edit: number): string => `Edit ${edit}. ${`${words}. `.repeat(4)}`.slice(0, 400);

function withBody(method: string, path: string, secret: string, type: string, body: string): string {
  const headers = `Authorization: Bearer ${secret}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}`;
  return `${method} ${path} HTTP/1.1\r\nHost: bench\r\n${headers}\r\n\r\n${body}`;
}

export const dataset_id = uuid('dataset');
export const document_id = uuid('document');
export const segment_id = uuid('segment');
export const chunkId = (at: number): string => uuid(`chunk ${at}`);

/** Lines of records: one document of a knowledge base with this many child chunks. */
export function* knowledge(chunks: number): Generator<string> {
  yield `${JSON.stringify({ record: 'dataset', id: dataset_id, workspace_id, name: 'Handbook' })}\n`;
  yield `${JSON.stringify({ record: 'document', id: document_id, dataset_id, name: 'grinder.md' })}\n`;
  yield `${JSON.stringify({ record: 'segment', id: segment_id, document_id, position: 1, content: prose(800, 1) })}\n`;
  for (let at = 0; at < chunks; at += 1) {
    yield `${JSON.stringify({ record: 'child_chunk', id: chunkId(at), segment_id, position: at, content: prose(400, at) })}\n`;
  }
}

/** Imports records with the command line, as an operator does. */
export async function importLines(database: string, lines: Iterable<string>, env?: NodeJS.ProcessEnv): Promise<void> {
  await runCommand(database, ['import', '-'], lines, env);
}

/** Builds the index of the search, so that a service does not build it while it is measured. */
export async function buildIndex(database: string): Promise<void> {
  await runCommand(database, ['reindex'], []);
}

async function runCommand(
  database: string,
  args: readonly string[],
  lines: Iterable<string>,
  env: NodeJS.ProcessEnv = {},
): Promise<void> {
  const child = spawn(process.execPath, [command, ...args], {
    env: { ...process.env, ...env, DATABASE_URL: database },
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  track(child);
  // If the command ends early, its exit code reports that.
  child.stdin.on('error', () => undefined);
  Readable.from(lines).pipe(child.stdin);
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${args[0]} exited with ${code}`);
}
