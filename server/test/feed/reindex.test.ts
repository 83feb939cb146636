import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash, randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { after, before, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { freePort, repository } from '../support/cli-helpers.ts';
import {
  makeTwoTenants,
  newMigratedUrl,
  onOneEngine,
  parseLines,
  type Service,
  startService,
} from '../support/harness.ts';
import { itLong, shortOrLong } from '../support/long.ts';
import { until } from '../support/until.ts';

const key = 'sk-of-the-test';
const model = 'embed-test';
const batchMax = 8;
/** `vector` tests with pgvector, if TEST_DATABASE_URL names a server that has it. */
const vectorType = process.env.TEST_VECTOR_TYPE ?? 'real[]';
/** The endpoint rejects texts that start with it. */
const tooLong = 'too long: ';

/** Exact as `real`. */
const vectorOf = (text: string): number[] => [...createHash('sha256').update(text).digest().subarray(0, 4)];

/** Speaks the protocol of OpenAI's embeddings: `POST /v1/embeddings`. Now and then it is overloaded. */
async function startEmbeddings() {
  const texts: string[] = [];
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const respond = (status: number, content: object) =>
      response
        .writeHead(status, { 'content-type': 'application/json', ...(status === 429 && { 'retry-after': '0' }) })
        .end(JSON.stringify(content));
    const fail = (status: number, message: string) => respond(status, { error: { message, type: 'invalid_request' } });
    if (request.method !== 'POST' || request.url !== '/v1/embeddings') return fail(404, 'no such route');
    if (request.headers.authorization !== `Bearer ${key}`) return fail(401, 'invalid key');
    const { model: requestedModel, input } = JSON.parse(body) as { model: string; input: string[] };
    server.emit('embedding');
    if (requestedModel !== model) return fail(404, 'no such model');
    if (randomInt(12) === 0) return fail(429, 'overloaded');
    if (input.length > batchMax || input.some((text) => text.startsWith(tooLong))) return fail(400, 'too long');
    texts.push(...input.filter((text) => text !== 'sample'));
    response.once('finish', () => server.emit('embedded'));
    // The order of the list is not that of the texts.
    const data = input.map((text, index) => ({ object: 'embedding', index, embedding: vectorOf(text) })).reverse();
    respond(200, { object: 'list', data, model, usage: { prompt_tokens: 1, total_tokens: 1 } });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, texts, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

onOneEngine('the example of a worker that keeps an index current', (engine) => {
  const { one, admin, records } = makeTwoTenants();
  const { chunkPath } = one;
  const segmentPath = chunkPath.slice(0, chunkPath.lastIndexOf('/'));
  const chunk = (content: string) => ({
    ...{ record: 'child_chunk', id: randomUUID(), segment_id: one.ids.segment, position: 1, content },
  });
  const chunks = Array.from({ length: 30 }, (_, at) => chunk(`text ${at}`));
  let service: Service;
  let database: Awaited<ReturnType<typeof newMigratedUrl>>;
  let index: pg.Client;
  let embeddings: Awaited<ReturnType<typeof startEmbeddings>>;
  const workers = new Set<ChildProcess>();

  before(async () => {
    service = await startService(engine);
    await service.load([...records, ...chunks, chunk(`${tooLong}a text`)]);
    database = await newMigratedUrl('postgres');
    index = new pg.Client(database.url);
    await index.connect();
    embeddings = await startEmbeddings();
  });
  after(async () => {
    for (const worker of workers) worker.kill('SIGKILL');
    embeddings.server.closeAllConnections();
    embeddings.server.close();
    await index.end();
    await database.remove();
    await service.close();
  });

  function startWorker(base = service.base, databaseUrl = database.url): ChildProcess {
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const worker = spawn(process.execPath, [join(repository, 'examples', 'reindex', 'reindex.ts')], {
      env: {
        ...{ PATH, NODE_COMPILE_CACHE },
        BACKSCROLL_URL: `${base}/v1`,
        BACKSCROLL_KEY: one.keys.feed,
        INDEX_DATABASE_URL: databaseUrl,
        EMBEDDINGS_URL: embeddings.url,
        EMBEDDINGS_KEY: key,
        EMBEDDINGS_MODEL: model,
        VECTOR_TYPE: vectorType,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let errors = '';
    worker.stderr?.on('data', (text) => (errors += text));
    workers.add(worker);
    worker.once('exit', (code) => {
      workers.delete(worker);
      // It ends only when it is killed.
      if (code !== null) assert.fail(`the worker ended with code ${code}: ${errors}`);
    });
    return worker;
  }

  async function kill(worker: ChildProcess): Promise<void> {
    const exit = once(worker, 'exit');
    worker.kill('SIGKILL');
    await exit;
  }

  type Row = { id: string; content: string; embedding: string };
  /** Hits of a search. At any time each text has its own vector, and there is no other. */
  async function readIndex(): Promise<Row[]> {
    const { rows } = await index.query<Row & { vectors: string }>(`
      SELECT chunk_id AS id, content, embedding::text, (SELECT count(*) FROM reindex_vectors) AS vectors
      FROM reindex_chunks JOIN reindex_vectors ON id = vector_id ORDER BY chunk_id`);
    for (const { content, embedding, vectors } of rows) {
      assert.equal(embedding.slice(1, -1), vectorOf(content).join());
      assert.equal(Number(vectors), rows.length);
    }
    return rows;
  }

  async function isCurrent(of: Service): Promise<boolean> {
    const { text } = await of.as(admin).get('/admin/records');
    const expected = parseLines(text)
      .filter(({ record, deleted }) => record === 'child_chunk' && !deleted)
      .filter(({ content }) => !content.startsWith(tooLong))
      // The feed key sees one of the two workspaces.
      .filter(({ segment_id }) => segment_id === one.ids.segment)
      .map(({ id, content }) => `${id} ${content}`)
      .sort();
    const found = await readIndex().catch((error) => {
      // The worker has not created its tables yet.
      if (error.code === '42P01') return [];
      throw error;
    });
    return found.map(({ id, content }) => `${id} ${content}`).join() === expected.join();
  }

  /** Edits, creates and deletes chunks. */
  async function write(): Promise<void> {
    const ofKnowledge = { key: one.keys.knowledge };
    for (let left = randomInt(1, 6); left > 0; left -= 1) {
      const { id } = chunks[randomInt(chunks.length)] as { id: string };
      const content = `text ${randomUUID()}`;
      const { status } = await service.request('PATCH', `${segmentPath}/${id}`, { ...ofKnowledge, body: { content } });
      // Deleted in an earlier round.
      if (status === 404) await service.request('POST', segmentPath, { ...ofKnowledge, body: { content } });
    }
    const { id } = chunks[randomInt(chunks.length)] as { id: string };
    await service.request('DELETE', `${segmentPath}/${id}`, ofKnowledge);
    // There is something to embed in every round.
    await service.request('PATCH', chunkPath, { ...ofKnowledge, body: { content: `text ${randomUUID()}` } });
  }

  it('has the texts of all chunks, wherever it was killed', async () => {
    // The database cannot be reached yet when the worker starts.
    const url = new URL(database.url);
    const { port } = url;
    url.port = String(await freePort());
    const first = startWorker(service.base, url.href);
    const [error] = await once(first.stderr as Readable, 'data');
    assert.match(`${error}`, /^connect ECONNREFUSED \S+\n$/);
    const relay = net.createServer((socket) => {
      const connected = net.connect(Number(port), url.hostname);
      void pipeline(socket, connected, socket).catch(() => undefined);
    });
    relay.listen(Number(url.port), '127.0.0.1');
    await until(() => isCurrent(service));
    await kill(first);
    relay.close();
    /** Each start embeds a sample first. */
    const second = async (event: string) => {
      await once(embeddings.server, event);
      await once(embeddings.server, event);
    };
    const moments = [
      () => second('embedding'),
      // While it writes to the index.
      () => second('embedded').then(() => sleep(randomInt(20))),
      () => sleep(randomInt(600)),
    ];
    for (let round = 0; round < shortOrLong(1, 60); round += 1) {
      await write();
      const moment = moments[round % moments.length]?.();
      const worker = startWorker();
      const writing = write();
      await moment;
      await kill(worker);
      await writing;
      await readIndex();
    }
    // Two at once do no harm, in `npm run test:all`.
    const last = Array.from({ length: shortOrLong(1, 2) }, () => startWorker());
    await write();
    await until(() => isCurrent(service));
    await Promise.all(last.map(kill));
    assert.ok(await isCurrent(service));
  });

  itLong('names all missing settings at its start', async () => {
    const program = join(repository, 'examples', 'reindex', 'reindex.ts');
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const env = { PATH, NODE_COMPILE_CACHE, BACKSCROLL_URL: 'http://127.0.0.1:1' };
    const { status, stderr } = spawnSync(process.execPath, [program], { env, encoding: 'utf8' });
    const missing = ['BACKSCROLL_KEY', 'INDEX_DATABASE_URL', 'EMBEDDINGS_URL', 'EMBEDDINGS_MODEL'];
    assert.deepEqual([status, stderr], [2, missing.map((name) => `${name} is not set\n`).join('')]);
  });

  itLong('starts again if the cursor is gone: embeds what differs, removes what no longer exists', async (t) => {
    const worker = startWorker();
    await until(() => isCurrent(service));
    await kill(worker);
    const rows = await readIndex();
    assert.ok(rows.length > 3);
    // An older copy of the data: without the first chunk, with another text of the second.
    const older = rows.slice(1).map(({ id, content }, at) => ({
      ...{ record: 'child_chunk', id, segment_id: one.ids.segment, position: 1 },
      content: at === 0 ? 'older text' : content,
    }));
    const restored = await startService(engine);
    t.after(() => restored.close());
    await restored.load([...records.filter((record) => !('position' in record && 'segment_id' in record)), ...older]);
    embeddings.texts.length = 0;
    const again = startWorker(restored.base);
    await until(() => isCurrent(restored));
    await kill(again);
    assert.deepEqual(new Set(embeddings.texts), new Set(['older text']));
  });
});
