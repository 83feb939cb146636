import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { allows } from '../../src/contract/people/roles.ts';
import { tools } from '../../src/http/mcp/tools.ts';
import { onOneEngine, useService } from '../support/harness.ts';
import { type IsolationFixture, makeCallers, makeIsolationFixture } from '../support/isolation-fixture.ts';
import { callRaw, type Result, resultOf } from './clients.ts';

/** Something that a tool can be called on. For all other callers that the tool is for, it does not exist. */
type Target = { name: string; visibleTo: readonly string[]; given: () => object; missing: () => object };

/**
 * `targets`: what a call names. `owned`: ids that only the results for these callers have, of a call that names nothing. An entry for
 * every tool.
 */
type Row = { targets?: readonly Target[]; owned?: { id: string; visibleTo: readonly string[] }[]; given?: object };

const knowledgeKeys = ['one knowledge', 'restricted knowledge', 'other knowledge'];

function makeRows(fixture: IsolationFixture): Record<string, Row> {
  const { one, other, second, outside, ownConversations, messages } = fixture;
  const conversations = [
    { name: 'of one', id: one.ids.conversation, app: one.ids.app, visibleTo: ['one app', 'admin'] },
    { name: 'of the second app', id: second.conversation, app: second.app, visibleTo: ['second app', 'admin'] },
    { name: 'of the other', id: other.ids.conversation, app: other.ids.app, visibleTo: ['other app', 'admin'] },
    { name: 'deleted', id: ownConversations.deleted, app: one.ids.app, visibleTo: [] },
  ];
  const page = conversations.map(({ name, id, visibleTo }) => ({
    name,
    visibleTo,
    given: () => ({ conversation_id: id }),
    missing: () => ({ conversation_id: randomUUID() }),
  }));
  const reviewed: Record<string, string | undefined> = {
    'of one': messages.one[0]?.id,
    'of the second app': messages.second.id,
    'of the other': messages.other.id,
  };
  const listed = conversations.map(({ id, visibleTo }) => ({ id, visibleTo }));
  const found = [
    { id: messages.bob.id, visibleTo: ['one app', 'admin'] },
    { id: messages.second.id, visibleTo: ['second app', 'admin'] },
    { id: messages.other.id, visibleTo: ['other app', 'admin'] },
    { id: messages.deleted.id, visibleTo: [] },
  ];
  const ofOne = ['one knowledge', 'restricted knowledge', 'admin'];
  const datasets = [
    { name: 'of one', ids: one.ids, visibleTo: ofOne },
    { name: 'outside of the restricted key', ids: outside.ids, visibleTo: ['one knowledge', 'admin'] },
    { name: 'of the other', ids: other.ids, visibleTo: ['other knowledge', 'admin'] },
  ];
  type Ids = { dataset: string; document: string; segment: string; chunk: string };
  const inDatasets = (given: (ids: Ids) => object) =>
    datasets.map(({ name, ids, visibleTo }) => ({
      name,
      visibleTo,
      given: () => given(ids),
      missing: () => given({ ...ids, dataset: randomUUID() }),
    }));
  const chunk = ({ dataset, document, segment, chunk }: Ids) => ({
    dataset_id: dataset,
    document_id: document,
    segment_id: segment,
    child_chunk_id: chunk,
  });
  const ownDatasets = datasets.map(({ ids, visibleTo }) => ({ id: ids.dataset, visibleTo }));
  return {
    list_conversations: { owned: listed, given: { limit: 100 } },
    get_messages: { targets: page },
    search_messages: { owned: found, given: { limit: 100 } },
    list_reviews: { owned: [{ id: messages.bob.id, visibleTo: [] }], given: { limit: 100 } },
    review_message: {
      targets: conversations.slice(0, 3).map(({ name, id, app }) => ({
        name,
        visibleTo: ['admin'],
        given: () => ({ app_id: app, conversation_id: id, message_id: reviewed[name], etag: '"of no one"' }),
        missing: () => ({ app_id: app, conversation_id: id, message_id: randomUUID(), etag: null }),
      })),
    },
    overview: { owned: [{ id: one.ids.app, visibleTo: ['admin'] }], given: { from: 0, to: 86_400 } },
    list_datasets: { owned: ownDatasets, given: { limit: 100 } },
    list_documents: { targets: inDatasets(({ dataset }) => ({ dataset_id: dataset })) },
    list_chunks: { targets: inDatasets(({ dataset, document }) => ({ dataset_id: dataset, document_id: document })) },
    search_chunks: { owned: ownDatasets, given: { q: 'text', limit: 100 } },
    get_chunk: { targets: inDatasets(chunk) },
    update_chunk: { targets: inDatasets((ids) => ({ ...chunk(ids), content: 'edited', version: 'of no one' })) },
    list_changes: { owned: [{ id: one.ids.app, visibleTo: ['admin'] }], given: { limit: 100 } },
  };
}

onOneEngine('isolation of agents', (engine) => {
  const fixture = makeIsolationFixture();
  const rows = makeRows(fixture);
  const callers = makeCallers(fixture);
  const service = useService(engine, fixture.records);
  before(async () => {
    await service.index();
  });

  it('every tool has a row, and there is no other row', () => {
    assert.deepEqual(Object.keys(rows).sort(), [...new Set(tools.map(({ name }) => name))].sort());
    const names = tools.flatMap(({ name, kinds }) => kinds.map((kind) => `${name} ${kind}`));
    assert.equal(new Set(names).size, names.length, 'one tool for each name and kind of key');
  });

  /** Those whose keys are valid and may call tools. Keys of completion apps read no conversations. */
  const agents = Object.entries(callers).filter(
    ([name, { kind }]) => kind !== undefined && kind !== 'writer' && kind !== 'feed' && name !== 'completion app',
  );
  const isFor = (tool: string, kind: string | undefined) =>
    tools.some(({ name, kinds }) => name === tool && kinds.some((one) => one === kind));

  for (const [tool, { targets = [], owned = [], given = {} }] of Object.entries(rows)) {
    describe(tool, () => {
      it('is unknown to keys that it is not for, and 401 to those that call no tools', async () => {
        for (const [caller, { key, kind }] of Object.entries(callers)) {
          // Failed keys are counted by address.
          if (kind === undefined && caller !== 'revoked admin') continue;
          const { status, body } = await callRaw(service, key, tool, targets[0]?.given() ?? given);
          if (kind === undefined || kind === 'writer' || kind === 'feed') assert.equal(status, 401, caller);
          else if (!isFor(tool, kind)) assert.equal(body.error.message, `Tool ${tool} not found`, caller);
          else assert.ok('result' in body, caller);
        }
      });

      for (const target of targets) {
        it(`${target.name}: what a key does not reach does not exist`, async () => {
          for (const [caller, { key, kind }] of agents.filter(([, { kind }]) => isFor(tool, kind))) {
            const read = async (arguments_: object): Promise<Result> =>
              resultOf((await callRaw(service, key, tool, arguments_)).body.result);
            const result = await read(target.given());
            const { status } = result;
            if (target.visibleTo.includes(caller)) {
              assert.equal(
                status,
                ['update_chunk', 'review_message'].includes(tool) ? 412 : undefined,
                `${caller} ${kind}: ${JSON.stringify(result)}`,
              );
            } else {
              assert.equal(status, 404, `${caller}: ${JSON.stringify(result)}`);
              assert.deepEqual(result, await read(target.missing()), caller);
            }
          }
        });
      }

      if (owned.length > 0)
        it('has only what the key reaches', async () => {
          for (const [caller, { key }] of agents.filter(([, { kind }]) => isFor(tool, kind))) {
            const { body } = await callRaw(service, key, tool, given);
            assert.equal(body.result.isError, undefined, JSON.stringify(body));
            const text = JSON.stringify(body.result);
            for (const { id, visibleTo } of owned)
              assert.equal(text.includes(id), visibleTo.includes(caller), `${caller} ${id}`);
          }
        });
    });
  }

  it('a role allows the tools whose operation it allows; the others do not exist', async () => {
    for (const { name, operation, kinds } of tools.filter((tool) => tool.kinds.includes('admin'))) {
      assert.ok(operation !== undefined, `${name} ${kinds}`);
      for (const role of ['viewer', 'editor'] as const) {
        const given = rows[name]?.targets?.[0]?.given() ?? rows[name]?.given ?? {};
        const { body } = await callRaw(service, fixture.byRole[role], name, given);
        if (allows(role, operation)) assert.ok('result' in body, `${role} ${name}`);
        else assert.equal(body.error.message, `Tool ${name} not found`, `${role} ${name}`);
      }
    }
  });

  it('a completion app has no conversations', async () => {
    for (const tool of ['list_conversations', 'search_messages', 'get_messages']) {
      const { body } = await callRaw(service, fixture.completion.key, tool, rows[tool]?.targets?.[0]?.given() ?? {});
      assert.equal(resultOf(body.result).code, 'not_chat_app', tool);
    }
  });

  it('a search of a restricted key finds, pages and counts only its own datasets', async () => {
    for (const caller of knowledgeKeys) {
      const found: string[] = [];
      for (let cursor: string | undefined; ; ) {
        const given = { q: 'text', limit: 1, ...(cursor && { cursor }) };
        const { data, next_cursor } = (await callRaw(service, callers[caller]?.key, 'search_chunks', given)).body.result
          .structuredContent;
        found.push(...data.map((hit: Result) => hit.dataset_id));
        if (next_cursor === null) break;
        cursor = next_cursor;
      }
      const { one, other, outside } = fixture;
      const expected = {
        'one knowledge': [one.ids.dataset, outside.ids.dataset],
        'restricted knowledge': [one.ids.dataset],
        'other knowledge': [other.ids.dataset],
      }[caller];
      assert.deepEqual([...new Set(found)].sort(), expected?.sort(), caller);
    }
  });
});
