import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { limits } from '../../../src/contract/limits.ts';
import { readConversations } from '../../../src/dify/rows/conversations.ts';
import { readMessages } from '../../../src/dify/rows/messages.ts';
import type { DifySource, ImportOptions } from '../../../src/dify/source.ts';
import { derivedId } from '../../../src/domain/derived-id.ts';
import {
  at,
  createDify,
  type DifyDatabase,
  difyId,
  difyRows,
  ids,
  minutesAgo,
  type Row,
} from '../../support/dify-database.ts';
import { idsOf, onlyRecord, type Reading, read } from './readers.ts';

let dify: DifyDatabase;
let source: DifySource;
let nth = 1000;
const newId = () => difyId(nth++);

before(async () => {
  dify = await createDify();
  await dify.run(difyRows);
  source = await dify.connect();
});
after(() => dify.close());

/** Inserts a message, and returns its id. */
async function insertMessage(row: Row = {}): Promise<string> {
  const id = newId();
  const created_at = at(1793600100);
  await dify.insert('messages', { id, conversation_id: ids.conversation, created_at, inputs: {}, ...row });
  return id;
}

const readById = (id: string, options: Partial<ImportOptions> = {}): Promise<Reading> =>
  read(source, readMessages, options, { messageIds: [id] });

describe('conversations of a Dify installation', () => {
  const insertConversation = async (row: Row): Promise<string> => {
    const id = newId();
    await dify.insert('conversations', { id, app_id: ids.app, created_at: at(1793600000.9), inputs: {}, ...row });
    return id;
  };

  it('are mapped field by field', async () => {
    const id = await insertConversation({
      from_end_user_id: ids.user,
      name: 'Late delivery',
      inputs: '{"z": "ä", "a": {"n": 9007199254740993, "x": "\\u0000\\ud800"}}',
      introduction: 'Hello!',
      updated_at: at(1793600500),
    });
    const reading = await read(source, readConversations, {}, [id, ids.deleted, difyId(99)]);
    assert.deepEqual(reading.records, [
      {
        record: 'conversation',
        id: ids.deleted,
        app_id: ids.app,
        user: null,
        created_at: 1793600000,
        deleted: true,
        name: 'New conversation',
        inputs: {},
        introduction: null,
        updated_at: 1793600000,
      },
      {
        record: 'conversation',
        id,
        app_id: ids.app,
        user: 'visitor-1',
        created_at: 1793600000,
        deleted: false,
        name: 'Late delivery',
        inputs: { z: 'ä', a: { n: '9007199254740993', x: '\uFFFD' } },
        introduction: 'Hello!',
        updated_at: 1793600500,
      },
    ]);
    assert.equal(JSON.stringify(reading.records[1]?.inputs).indexOf('"z"'), 1, 'the order of names is kept');
    assert.deepEqual(reading.skips, []);
    assert.deepEqual(reading.counts, {
      'cells with numbers kept as text': 1,
      'cells with NUL or lone surrogates replaced': 1,
    });
  });

  it('are not those of the console, unless they are requested', async () => {
    const id = await insertConversation({ from_source: 'console', from_account_id: difyId(77) });
    assert.deepEqual(idsOf(await read(source, readConversations, {}, [id])), []);
    const record = onlyRecord(await read(source, readConversations, { console: true }, [id]));
    assert.deepEqual([record.id, record.user], [id, null]);
  });

  it('are not those of other workspaces, apps and times', async () => {
    const isRead = async (options: Partial<ImportOptions>) =>
      idsOf(await read(source, readConversations, options, [ids.conversation])).length === 1;
    assert.equal(await isRead({ workspaceIds: [ids.workspace.toUpperCase()] }), true);
    assert.equal(await isRead({ workspaceIds: [difyId(99), 'not a UUID'] }), false);
    assert.equal(await isRead({ appIds: [ids.app] }), true);
    assert.equal(await isRead({ appIds: [difyId(99)] }), false);
    assert.equal(await isRead({ since: 1793600000 }), true);
    assert.equal(await isRead({ since: 1793600001 }), false);
  });

  it('are not orphans', async () => {
    const id = await insertConversation({ app_id: difyId(98) });
    assert.deepEqual(idsOf(await read(source, readConversations, {}, [id])), []);
    const message = await insertMessage({ conversation_id: id });
    assert.deepEqual(idsOf(await readById(message)), []);
    const lost = await insertMessage({ conversation_id: difyId(97) });
    assert.deepEqual(idsOf(await readById(lost)), []);
  });

  it('have no user if the end user is gone', async () => {
    const id = await insertConversation({ from_end_user_id: difyId(96) });
    const reading = await read(source, readConversations, {}, [id]);
    assert.equal(onlyRecord(reading).user, null);
    assert.deepEqual(reading.skips, [{ kind: 'conversation', id, part: 'user', reason: 'end user missing' }]);
  });

  it('have empty inputs instead of null, a list or too large ones', async () => {
    for (const [inputs, reason] of [
      [null, undefined],
      ['null', undefined],
      ['[]', undefined],
      ['[1]', 'not an object'],
      ['"text"', 'not an object'],
      [`${'{"a":'.repeat(120)}1${'}'.repeat(120)}`, 'nested too deep'],
      [{ a: 'x'.repeat(limits.recordBytesMax) }, 'too large'],
    ] as const) {
      const id = await insertConversation({ inputs, introduction: 'kept' });
      const reading = await read(source, readConversations, {}, [id]);
      const record = onlyRecord(reading);
      assert.deepEqual([record.inputs, record.introduction], [{}, 'kept']);
      assert.deepEqual(
        reading.skips.map(({ part, reason: text }) => [part, text]),
        reason === undefined ? [] : [['inputs', reason]],
      );
    }
  });
});

describe('messages of a Dify installation', () => {
  it('are mapped field by field', async () => {
    const id = await insertMessage({
      parent_message_id: difyId(21),
      inputs: '{"z": 1, "a": [true, null]}',
      query: 'Where?',
      answer: 'Here.',
      message_tokens: 12,
      answer_tokens: 34,
      provider_response_latency: 1.75,
      total_price: 0.00002,
      currency: 'EUR',
      model_provider: 'harbour/lantern/lantern',
      model_id: '',
      created_at: at(1793600100.999),
    });
    const reading = await readById(id);
    assert.deepEqual(onlyRecord(reading), {
      record: 'message',
      id,
      conversation_id: ids.conversation,
      parent_message_id: difyId(21),
      inputs: { z: 1, a: [true, null] },
      query: 'Where?',
      answer: 'Here.',
      status: 'normal',
      error: null,
      message_files: [],
      feedback: null,
      feedback_content: null,
      retriever_resources: [],
      agent_thoughts: [],
      created_at: 1793600100,
      extra_contents: [],
      message_tokens: 12,
      answer_tokens: 34,
      provider_response_latency: 1.75,
      total_price: '0.0000200',
      currency: 'EUR',
      model_provider: 'harbour/lantern/lantern',
      model: null,
    });
    assert.deepEqual([reading.skips, reading.unfinished, reading.counts], [[], [], {}]);
  });

  it('have the status normal or error', async () => {
    for (const [status, expected] of [
      ['normal', 'normal'],
      ['paused', 'normal'],
      ['error', 'error'],
    ] as const) {
      const record = onlyRecord(await readById(await insertMessage({ status, error: 'why' })));
      assert.deepEqual([record.status, record.error], [expected, 'why']);
    }
  });

  it('wait while they are unfinished', async () => {
    const empty = { answer: '', created_at: minutesAgo(9) };
    const id = await insertMessage(empty);
    const { records, unfinished, skips } = await readById(id);
    assert.deepEqual([records, unfinished, skips], [[], [id], []]);
    for (const row of [
      { created_at: minutesAgo(11) },
      { answer: 'A' },
      { message_tokens: 1 },
      { answer_tokens: 1 },
      { status: 'error' },
      { status: 'paused' },
    ])
      assert.deepEqual((await readById(await insertMessage({ ...empty, ...row }))).unfinished, []);
  });

  it('keep their conversation even if a value is bad', async () => {
    const id = await insertMessage({ provider_response_latency: 'Infinity', total_price: 'NaN', answer: 'kept' });
    const reading = await readById(id);
    const record = onlyRecord(reading);
    assert.deepEqual([record.provider_response_latency, record.total_price, record.answer], [0, null, 'kept']);
    assert.deepEqual(reading.skips.map(({ part, reason }) => [part, reason]).sort(), [
      ['provider_response_latency', 'not valid'],
      ['total_price', 'not valid'],
    ]);
  });

  it('are listed and not read if they are too large', async () => {
    const long = await insertMessage({ answer: 'x'.repeat(limits.recordBytesMax + 1) });
    // Its text fits, but not its JSON.
    const escaped = await insertMessage({ answer: '"'.repeat(limits.recordBytesMax - 1000) });
    for (const id of [long, escaped]) {
      const { records, skips } = await readById(id);
      assert.deepEqual(records, []);
      assert.deepEqual(
        skips.map(({ detail: _, ...skip }) => skip),
        [{ kind: 'message', id, reason: 'too large' }],
      );
    }
  });

  it('lose the signatures of links, everywhere', async () => {
    const path = `/files/${ids.upload}/file-preview`;
    const link = `https://dify.example${path}?timestamp=1&nonce=2&sign=3`;
    const id = await insertMessage({
      query: link,
      answer: `![a](${link})`,
      error: link,
      inputs: {
        file: {
          dify_model_identity: '__dify__file__',
          id: 'f1',
          tenant_id: ids.workspace,
          storage_key: 'upload_files/secret.pdf',
          filename: 'a.pdf',
          remote_url: null,
          url: link,
          related_id: ids.upload,
        },
        files: [{ dify_model_identity: '__dify__file__', tenant_id: ids.workspace, url: link }],
        other: { tenant_id: 'kept' },
      },
      message_metadata: { retriever_resources: [{ content: link }] },
    });
    await dify.insert('message_agent_thoughts', {
      id: newId(),
      message_id: id,
      position: 1,
      thought: link,
      tool_input: link,
      observation: link,
    });
    const reading = await readById(id, { filesBase: 'https://files.example/' });
    const record = onlyRecord(reading) as Record<string, never>;
    assert.doesNotMatch(JSON.stringify(record), /sign=|storage_key|upload_files/);
    assert.equal(record.answer, `![a](https://files.example${path})`);
    assert.deepEqual(record.inputs, {
      file: {
        dify_model_identity: '__dify__file__',
        id: 'f1',
        filename: 'a.pdf',
        remote_url: null,
        url: `https://files.example${path}`,
        related_id: ids.upload,
      },
      files: [{ dify_model_identity: '__dify__file__', url: `https://files.example${path}` }],
      other: { tenant_id: 'kept' },
    });
    assert.deepEqual(reading.counts, { 'signed links removed': 9 });
    assert.deepEqual(reading.skips, []);
    const unchanged = onlyRecord(await readById(id)) as Record<string, never>;
    assert.equal(unchanged.answer, `![a](https://dify.example${path})`);
  });

  it('have the ids of files in their inputs, which are in references', async () => {
    const encode = (value: unknown) => `dify-file-ref:${Buffer.from(JSON.stringify(value)).toString('base64url')}`;
    const references: [reference: unknown, relatedId: unknown][] = [
      [encode({ record_id: ids.upload }), ids.upload],
      [`${encode({ record_id: ids.upload })}==`, ids.upload],
      [ids.upload, ids.upload],
      [encode({ record_id: 'storage/key' }), null],
      [encode(7), null],
      ['dify-file-ref:%%%', null],
      ['storage/key', null],
      [null, null],
    ];
    const file = { dify_model_identity: '__dify__file__', filename: 'a.pdf' };
    const files = references.map(([reference]) => ({ ...file, reference }));
    const id = await insertMessage({ inputs: { files, known: { ...file, related_id: 'x', reference: ids.upload } } });
    const reading = await readById(id);
    assert.deepEqual(onlyRecord(reading).inputs, {
      files: references.map(([, related_id]) => ({ ...file, related_id })),
      known: { ...file, related_id: 'x' },
    });
    assert.deepEqual(reading.skips, []);
  });

  it('have the newest feedback of the user, with its text', async () => {
    const id = await insertMessage();
    const feedback = { message_id: id, from_source: 'user' };
    await dify.insert(
      'message_feedbacks',
      { ...feedback, rating: 'dislike', content: 'Wrong.', created_at: at(1793600300) },
      { ...feedback, rating: 'like', content: 'older', created_at: at(1793600200) },
      { ...feedback, rating: 'like', content: 'internal', from_source: 'admin', created_at: at(1793600400) },
    );
    const record = onlyRecord(await readById(id));
    assert.deepEqual([record.feedback, record.feedback_content], [{ rating: 'dislike' }, 'Wrong.']);
  });

  it('have citations, also those of external knowledge', async () => {
    const external = { dataset_id: ids.dataset, document_id: 'A title', segment_id: null, content: 'far away' };
    const id = await insertMessage({
      message_metadata: {
        usage: { total_price: '0' },
        retriever_resources: [
          {
            position: 4,
            dataset_id: ids.dataset,
            dataset_name: 'Handbook',
            document_id: ids.document,
            document_name: 'guide.md',
            data_source_type: 'upload_file',
            segment_id: ids.segment,
            retriever_from: 'workflow',
            score: 0.5,
            hit_count: 3.0,
            word_count: '7',
            segment_position: 2,
            index_node_hash: 'hash',
            content: 'Unplug it.',
            summary: 'How to unplug',
            doc_metadata: { owner: 'someone' },
            page: null,
          },
          { ...external, title: 'A title', score: 0.25, data_source_type: 'external' },
          { ...external, dataset_id: '' },
          Object.fromEntries(['position', 'dataset_id', 'document_id', 'score', 'content'].map((name) => [name, null])),
        ],
      },
    });
    const reading = await readById(id);
    const [full, first, second, empty] = onlyRecord(reading).retriever_resources as Record<string, unknown>[];
    assert.deepEqual(full, {
      id: derivedId('retriever_resource', id, '0'),
      message_id: id,
      position: 4,
      dataset_id: ids.dataset,
      dataset_name: 'Handbook',
      document_id: ids.document,
      document_name: 'guide.md',
      data_source_type: 'upload_file',
      segment_id: ids.segment,
      score: 0.5,
      hit_count: 3,
      word_count: 7,
      segment_position: 2,
      index_node_hash: 'hash',
      content: 'Unplug it.',
      summary: 'How to unplug',
      created_at: 1793600100,
    });
    const document_id = derivedId('document', ids.dataset, 'A title');
    assert.deepEqual(first, {
      id: derivedId('retriever_resource', id, '1'),
      message_id: id,
      position: 2,
      dataset_id: ids.dataset,
      dataset_name: '',
      document_id,
      document_name: 'A title',
      data_source_type: 'external',
      segment_id: derivedId('segment', document_id, 'far away'),
      score: 0.25,
      hit_count: 0,
      word_count: 0,
      segment_position: 0,
      index_node_hash: '',
      content: 'far away',
      summary: null,
      created_at: 1793600100,
    });
    assert.equal(second?.dataset_id, derivedId('dataset', ''));
    assert.deepEqual([empty?.position, empty?.score, empty?.content], [4, 0, '']);
    assert.deepEqual(reading.skips, []);
    // The same chunk of external knowledge has the same id in every message.
    const other = await insertMessage({ message_metadata: { retriever_resources: [external] } });
    const [again] = onlyRecord(await readById(other)).retriever_resources as Record<string, unknown>[];
    assert.equal(again?.segment_id, first?.segment_id);
    assert.notEqual(again?.id, first?.id);
  });

  it('list bad citations by their path, and keep the others', async () => {
    const good = { dataset_id: ids.dataset, document_id: ids.document, segment_id: ids.segment, content: 'good' };
    const id = await insertMessage({
      message_metadata: `{"retriever_resources": ["text", ${JSON.stringify(good)},
        {"content": {"no": "text"}, "hit_count": 1.5, "score": NaN, "position": 9007199254740993}, null]}`,
    });
    const reading = await readById(id);
    const citations = onlyRecord(reading).retriever_resources as Record<string, unknown>[];
    assert.deepEqual(
      citations.map(({ content, score, hit_count, position }) => [content, score, hit_count, position]),
      [
        ['good', 0, 0, 2],
        ['', 0, 0, 3],
      ],
    );
    assert.deepEqual(
      reading.skips.map(({ part, reason }) => [part, reason]),
      [
        ['message_metadata', 'NaN or Infinity'],
        ['retriever_resources[0]', 'not an object'],
        ['retriever_resources[2].content', 'wrong type'],
        ['retriever_resources[2].position', 'wrong type'],
        ['retriever_resources[2].hit_count', 'wrong type'],
        ['retriever_resources[3]', 'not an object'],
      ],
    );
  });

  it('list metadata that is no JSON, or has no list of citations', async () => {
    for (const [message_metadata, part, reason] of [
      ['{"retriever_resources": [', 'message_metadata', 'malformed JSON'],
      ['[1]', 'message_metadata', 'not an object'],
      ['{"retriever_resources": {"0": {}}}', 'retriever_resources', 'not a list'],
    ] as const) {
      const id = await insertMessage({ message_metadata });
      const reading = await readById(id);
      assert.deepEqual(onlyRecord(reading).retriever_resources, []);
      assert.deepEqual(reading.skips, [{ kind: 'message', id, part, reason }]);
    }
    for (const message_metadata of [null, '', '{}', 'null', '{"retriever_resources": null}']) {
      assert.deepEqual((await readById(await insertMessage({ message_metadata }))).skips, []);
    }
  });

  it('have agent thoughts in their order, and list bad values of them', async () => {
    const id = await insertMessage();
    const [late, early, third] = [newId(), newId(), newId()];
    const thought = { message_id: id, position: 1 };
    await dify.insert(
      'message_agent_thoughts',
      { ...thought, id: third, position: 2, tool_labels_str: '{bad', message_files: '{"a": 1}', created_at: at(1) },
      { ...thought, id: late, tool_labels_str: '[]', message_files: '["f1", 2, {}]', created_at: at(3) },
      {
        ...thought,
        id: early,
        message_chain_id: difyId(55),
        thought: 'Hm.',
        tool: 'search;clock',
        tool_labels_str: { search: { en_US: 'Search' } },
        tool_input: '{"q": 1}',
        observation: 'found',
        message_files: '',
        created_at: at(2.5),
      },
    );
    const reading = await readById(id);
    const empty = { chain_id: null, message_id: id, thought: '', tool: '', tool_labels: {}, tool_input: '' };
    assert.deepEqual(onlyRecord(reading).agent_thoughts, [
      {
        id: early,
        chain_id: difyId(55),
        message_id: id,
        position: 1,
        thought: 'Hm.',
        tool: 'search;clock',
        tool_labels: { search: { en_US: 'Search' } },
        tool_input: '{"q": 1}',
        observation: 'found',
        files: [],
        created_at: 2,
      },
      { ...empty, id: late, position: 1, observation: '', files: ['f1', '2'], created_at: 3 },
      { ...empty, id: third, position: 2, observation: '', files: [], created_at: 1 },
    ]);
    assert.deepEqual(
      reading.skips.map(({ part, reason }) => [part, reason]),
      [
        ['agent_thoughts[1].files[2]', 'wrong type'],
        ['agent_thoughts[2].files', 'not a list'],
        ['agent_thoughts[2].tool_labels', 'malformed JSON'],
      ],
    );
  });
});
