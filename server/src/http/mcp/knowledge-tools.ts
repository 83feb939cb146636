import { ListQuery, listOf } from '../../contract/admin.ts';
import { ChildChunkEdit, ChildChunkPath, ChildChunkResponse } from '../../contract/child-chunk.ts';
import { DatasetListed, RevisionListed } from '../../contract/console/knowledge.ts';
import { KnowledgeHit, SearchQuery } from '../../contract/console/search.ts';
import * as pages from '../../contract/knowledge/pages.ts';
import { KnowledgeBase, KnowledgeDocument } from '../../contract/knowledge.ts';
import { limits } from '../../contract/limits.ts';
import { choice, described, list, nullable, shape, text } from '../../contract/primitives.ts';
import { Type } from '../../contract/type.ts';
import type { Call } from '../../domain/call.ts';
import { listAllDatasets, listRevisions } from '../../domain/knowledge/list-all.ts';
import * as knowledge from '../../domain/knowledge/list-knowledge.ts';
import { asKnowledgeCaller } from '../../domain/knowledge/path.ts';
import { findChildChunk, updateChildChunk } from '../../domain/knowledge/update-child-chunk.ts';
import { searchChunks } from '../../domain/search/search-pages.ts';
import type { KnowledgeScope } from '../../domain/store/knowledge-reads.ts';
import { diffWords } from '../../domain/words/word-diff.ts';
import { consoleUrl, LinkedHit, searchLinked } from './message-tools.ts';
import { type AgentCaller, defineTool, parseBody, type ToolCall } from './tool.ts';

const { dataset_id, document_id } = ChildChunkPath.properties;
const { include_all: _, ...datasetFilters } = pages.KnowledgeBaseQuery.properties;
const { q, limit, cursor } = SearchQuery.properties;

/** For a dataset, an admin key allows the same as a knowledge key of its workspace. */
async function knowledgeCall(call: ToolCall, id: string): Promise<Call<'knowledge'>> {
  const { store, caller } = call;
  if (caller.kind === 'app') throw new Error('the tool is not for app keys');
  return { ...call, caller: caller.kind === 'knowledge' ? caller : await asKnowledgeCaller(store, caller, id) };
}

const aboutDatasets = {
  title: 'List knowledge bases',
  description: 'Knowledge bases that the key allows. Use it first, to find the `dataset_id` that other tools need.',
};

const listDatasets = defineTool('list_datasets', ['knowledge'], undefined, {
  ...aboutDatasets,
  input: datasetFilters,
  output: pages.offsetPage(KnowledgeBase).properties,
  run: async (query, call) => {
    const access = await knowledgeCall(call, '');
    return parseBody(await knowledge.listDatasets(access, knowledge.withPage(query)));
  },
});

/** Those of all workspaces. */
const listAllDatasetsTool = defineTool('list_datasets', ['admin'], 'listDatasets', {
  ...aboutDatasets,
  input: ListQuery.properties,
  output: listOf(DatasetListed).properties,
  run: (query, { dependencies }) => listAllDatasets(dependencies, query),
});

const listDocuments = defineTool('list_documents', ['knowledge', 'admin'], 'listDocuments', {
  title: 'List documents',
  description: 'Documents of a knowledge base, newest first. Use it to find the `document_id` of a text.',
  input: { dataset_id, ...pages.DocumentQuery.properties },
  output: pages.offsetPage(KnowledgeDocument).properties,
  run: async ({ dataset_id, ...query }, call) => {
    const access = await knowledgeCall(call, dataset_id);
    const path = { dataset_id };
    return parseBody(await knowledge.listDocuments(access, path, knowledge.withPage(query)));
  },
});

const listChunks = defineTool('list_chunks', ['knowledge', 'admin'], 'listSegments', {
  title: 'List chunks',
  description:
    'Segments (parent chunks) of a document with their child chunks, by position. Use it to read a document, or to find the ' +
    '`child_chunk_id` of a text in it.',
  input: { dataset_id, document_id, ...pages.SegmentQuery.properties },
  output: pages.SegmentPage.properties,
  run: async ({ dataset_id, document_id, ...query }, call) => {
    const access = await knowledgeCall(call, dataset_id);
    const path = { dataset_id, document_id };
    return parseBody(await knowledge.listSegments(access, path, knowledge.withPage(query)));
  },
});

const LinkedChunk = described('A segment or child chunk.', {
  ...KnowledgeHit.properties,
  url: text('Address in the console.'),
});

const searchChunksTool = defineTool('search_chunks', ['knowledge', 'admin'], 'search', {
  title: 'Search chunks',
  description:
    'Segments and child chunks with these words, with snippets and their addresses in the console. Use it to find the text ' +
    'behind an answer, or all texts that have to be changed. Read a child chunk with get_chunk.',
  input: { q, limit, cursor },
  output: listOf(LinkedChunk).properties,
  run: async (query, call) => {
    const { caller, dependencies, disconnected } = call;
    const page = await searchChunks(dependencies, query, scopeOf(caller), disconnected());
    const linked = page.data.map((hit) => {
      const path = [hit.dataset_id, hit.document_id, hit.segment_id, hit.child_chunk_id].filter((id) => id !== null);
      return { ...hit, url: consoleUrl(call, ['knowledge', ...path]) };
    });
    return { ...page, data: linked };
  },
});

/** An admin key allows all knowledge bases. */
function scopeOf(caller: AgentCaller): KnowledgeScope | undefined {
  if (caller.kind !== 'knowledge') return undefined;
  const { workspace_id, dataset_ids } = caller;
  return { workspace_id, dataset_ids };
}

const newestRevisions = `The newest ${limits.toolChunkRowsMax} replaced texts, newest first.`;
const { revision, content, replaced_at } = RevisionListed.properties;
const version = text('Version of the text, for `version` of update_chunk. It changes with every edit.');

const getChunk = defineTool('get_chunk', ['knowledge', 'admin'], 'getChildChunkAsAdmin', {
  title: 'Get a chunk',
  description:
    'A child chunk: its text, its `version` and its replaced texts. With an admin key also the newest answers that cite its ' +
    'segment. Use it before update_chunk, which needs the `version`.',
  input: ChildChunkPath.properties,
  output: {
    ...ChildChunkResponse.properties,
    version,
    revisions: list(shape({ revision, content, replaced_at }), newestRevisions),
  },
  adminOutput: {
    revisions: list(RevisionListed, newestRevisions),
    cited_by: nullable(
      list(
        LinkedHit,
        `The newest ${limits.toolChunkRowsMax} answers that cite its segment; null if the search is off.`,
      ),
    ),
  },
  run: async (path, call) => {
    const { store, caller } = call;
    const { chunk, version } = await findChildChunk(await knowledgeCall(call, path.dataset_id), path);
    const { data: revisions } = await listRevisions(store, path, { limit: limits.toolChunkRowsMax });
    if (caller.kind !== 'admin') {
      // Names of keys and people are for admins.
      const shown = revisions.map(({ revision, content, replaced_at }) => ({ revision, content, replaced_at }));
      return { data: chunk, version, revisions: shown };
    }
    const query = { segment_id: path.segment_id, limit: limits.toolChunkRowsMax };
    const cited_by = call.dependencies.search === undefined ? (await searchLinked(call, query)).data : null;
    return { data: chunk, version, revisions, cited_by };
  },
});

const DiffPart = shape({
  kind: choice(['same', 'gone', 'new'], 'In both texts, only in the replaced one, or only in the new one.'),
  text: text('Words.'),
});

const updateChunk = defineTool('update_chunk', ['knowledge', 'admin'], 'updateChildChunkAsAdmin', {
  title: 'Update a chunk',
  description:
    'Replaces the text of a child chunk, and returns the difference by words. Use it only when the edit was agreed on. `version` is ' +
    'the one that get_chunk returned: if the text has changed since, nothing is written (412), and the chunk has to be read again. ' +
    'The replaced text is kept as a revision.',
  isWrite: true,
  input: {
    ...ChildChunkPath.properties,
    ...ChildChunkEdit.properties,
    version: Type.String({
      minLength: 1,
      description: '`version` of the text that is to be replaced, from get_chunk.',
    }),
  },
  output: {
    ...ChildChunkResponse.properties,
    version,
    diff: list(DiffPart, 'The parts of both texts, in their order. Read the text with get_chunk if a part was cut.'),
  },
  run: async ({ content, version: replaced, ...path }, call) => {
    const access = await knowledgeCall(call, path.dataset_id);
    const before = await findChildChunk(access, path);
    const edit = { content, precondition: [replaced], tool: 'update_chunk' };
    const { chunk, version } = await updateChildChunk(access, call.dependencies.owned?.changes, path, edit);
    return { data: chunk, version, diff: diffWords(before.chunk.content, chunk.content) };
  },
});

export const knowledgeTools = [
  listDatasets,
  listAllDatasetsTool,
  listDocuments,
  listChunks,
  searchChunksTool,
  getChunk,
  updateChunk,
];
