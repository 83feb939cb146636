import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/**
 * What an agent does with the tools of Backscroll, without a model: it finds disliked answers and the chunks behind them, and saves an
 * edit under a version check.
 *
 *   agent.ts                      lists disliked answers with their chunks
 *   agent.ts CHUNK 'new text'     shows the edit of a chunk, and saves it if the key allows
 */

const { BACKSCROLL_URL = 'http://127.0.0.1:5001', BACKSCROLL_KEY = '', DAYS = '' } = process.env;
const [place, text] = process.argv.slice(2);

type Citation = { dataset_id: string; document_id: string; segment_id: string };
type Message = { id: string; query: string; answer: string; retriever_resources: Citation[] };
type Hit = { app_id: string; conversation_id: string; message_id: string; url: string };
type Chunk = { id: string; content: string };
type Chunks = { data: { id: string; child_chunks: Chunk[] }[]; has_more: boolean };
type Page = { data: Message[]; feedback_texts: { message_id: string; content: string }[] };
type Part = { kind: 'same' | 'gone' | 'new'; text: string };

const client = new Client(
  { name: 'backscroll-example', version: '1.0.0' },
  // Any version of the protocol that the server has.
  { versionNegotiation: { mode: 'auto' } },
);
const requestInit = { headers: { authorization: `Bearer ${BACKSCROLL_KEY}` } };
await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', BACKSCROLL_URL), { requestInit }));
try {
  const { tools } = await client.listTools();
  const names = new Set(tools.map(({ name }) => name));
  if (place === undefined || text === undefined) await listDisliked();
  else await edit(place.split('/'), text, names.has('update_chunk'));
} finally {
  await client.close();
}

/** The structured result of a tool. An error of the service ends the program. */
async function call<R>(name: string, given: Record<string, unknown>): Promise<R> {
  const { structuredContent, isError, content } = await client.callTool({ name, arguments: given });
  if (isError) throw new Error(`${name}: ${JSON.stringify(content)}`);
  return structuredContent as R;
}

async function listDisliked(): Promise<void> {
  const from = DAYS === '' ? {} : { from: Math.floor(Date.now() / 1000) - Number(DAYS) * 86_400 };
  const { data: hits } = await call<{ data: Hit[] }>('search_messages', { rating: 'dislike', ...from });
  console.log(`${hits.length} disliked ${hits.length === 1 ? 'answer' : 'answers'}`);
  for (const { conversation_id, message_id, app_id, url } of hits) {
    const { answered, before, feedback } = await readAround(app_id, conversation_id, message_id);
    console.log(`\n${new URL(url, BACKSCROLL_URL)}`);
    console.log(`question: ${answered.query}\nanswer:   ${answered.answer}`);
    if (feedback !== undefined) console.log(`feedback: ${feedback}`);
    // An answer without citations continues what an earlier one said.
    const source = [answered, ...before].find(({ retriever_resources }) => retriever_resources.length > 0);
    for (const citation of source?.retriever_resources ?? []) await showChunks(citation);
  }
}

/** A message, and a few messages before it, newest first. */
async function readAround(app_id: string, conversation_id: string, message_id: string) {
  const common = { app_id, conversation_id, page_order: 'newest_first' };
  const { data: before } = await call<Page>('get_messages', { ...common, first_id: message_id, limit: 5 });
  for (let first_id: string | undefined; ; ) {
    const page: Page & { next_first_id: string | null } = await call('get_messages', {
      ...common,
      first_id,
      limit: 100,
    });
    const answered = page.data.find(({ id }) => id === message_id);
    const feedback = page.feedback_texts.find((one) => one.message_id === message_id)?.content;
    if (answered !== undefined) return { answered, before, feedback };
    if (page.next_first_id === null) throw new Error(`message ${message_id} was erased`);
    first_id = page.next_first_id;
  }
}

async function showChunks({ dataset_id, document_id, segment_id }: Citation): Promise<void> {
  for (let page = 1; ; page += 1) {
    const { data, has_more } = await call<Chunks>('list_chunks', { dataset_id, document_id, page, limit: 100 });
    for (const { id, content } of data.find((segment) => segment.id === segment_id)?.child_chunks ?? []) {
      console.log(`chunk:    ${[dataset_id, document_id, segment_id, id].join('/')}\n          ${content}`);
    }
    if (!has_more) return;
  }
}

async function edit(ids: string[], content: string, maySave: boolean): Promise<void> {
  const [dataset_id, document_id, segment_id, child_chunk_id] = ids;
  const path = { dataset_id, document_id, segment_id, child_chunk_id };
  const chunk = await call<{ data: Chunk; version: string }>('get_chunk', path);
  if (!maySave) {
    console.log(`now:      ${chunk.data.content}\nproposed: ${content}\nThe key is read-only, so nothing was saved.`);
    return;
  }
  const { diff } = await call<{ diff: Part[] }>('update_chunk', { ...path, content, version: chunk.version });
  const marks = { same: ['', ''], gone: ['[-', '-]'], new: ['{+', '+}'] } as const;
  console.log(`saved:    ${diff.map((part) => marks[part.kind].join(part.text)).join('')}`);
}
