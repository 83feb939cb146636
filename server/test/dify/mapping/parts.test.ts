import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readMessages } from '../../../src/dify/rows/messages.ts';
import type { DifySource, ImportOptions } from '../../../src/dify/source.ts';
import { at, createDify, type DifyDatabase, difyId, difyRows, ids, type Row } from '../../support/dify-database.ts';
import { onlyRecord, type Reading, read } from './readers.ts';

let dify: DifyDatabase;
let source: DifySource;
let nth = 2000;
const newId = () => difyId(nth++);

before(async () => {
  dify = await createDify();
  await dify.run(difyRows);
  source = await dify.connect();
});
after(() => dify.close());

async function insertMessage(): Promise<string> {
  const id = newId();
  await dify.insert('messages', { id, conversation_id: ids.conversation, created_at: at(1793600100), inputs: {} });
  return id;
}

const readById = (id: string, options: Partial<ImportOptions> = {}): Promise<Reading> =>
  read(source, readMessages, options, { messageIds: [id] });

const reasons = ({ skips }: Reading) => skips.map(({ part, reason }) => [part, reason]);

describe('files of messages of a Dify installation', () => {
  /** The file of a new message with this row. */
  const readFile = async (row: Row, options: Partial<ImportOptions> = {}) => {
    const message_id = await insertMessage();
    const id = newId();
    await dify.insert('message_files', { id, message_id, type: 'image', belongs_to: 'user', ...row });
    const reading = await readById(message_id, options);
    const [file] = onlyRecord(reading).message_files as Record<string, unknown>[];
    return { id, file, reading };
  };

  it('are uploads', async () => {
    const row = { transfer_method: 'local_file', type: 'document', upload_file_id: ids.upload };
    const { id, file, reading } = await readFile(row);
    const expected = {
      id,
      filename: 'plan.pdf',
      type: 'document',
      url: null,
      mime_type: 'application/pdf',
      size: 1234,
      transfer_method: 'local_file',
      belongs_to: 'user',
      upload_file_id: ids.upload,
    };
    assert.deepEqual(file, expected);
    assert.deepEqual(reading.skips, []);
    const based = await readFile(row, { filesBase: 'https://files.example' });
    const url = `https://files.example/files/${ids.upload}/file-preview`;
    assert.deepEqual(based.file, { ...expected, id: based.id, url });
  });

  it('are files of tools, found by a column or by their URL', async () => {
    const tool = newId();
    await dify.insert('tool_files', {
      id: tool,
      tenant_id: ids.workspace,
      mimetype: 'image/png',
      name: 'chart 1.png',
      size: 99,
    });
    const url = `/files/tools/${tool}.png?timestamp=1&nonce=2&sign=3`;
    for (const row of [{ upload_file_id: tool, url }, { upload_file_id: tool }, { url }, { url: url.split('?')[0] }]) {
      const { id, file, reading } = await readFile({ ...row, transfer_method: 'tool_file', belongs_to: 'assistant' });
      assert.deepEqual(file, {
        id,
        filename: 'chart 1.png',
        type: 'image',
        url: null,
        mime_type: 'image/png',
        size: 99,
        transfer_method: 'tool_file',
        belongs_to: 'assistant',
        upload_file_id: tool,
      });
      assert.deepEqual(reading.skips, []);
    }
    const row = { transfer_method: 'tool_file', upload_file_id: tool };
    const { file } = await readFile(row, { filesBase: 'https://files.example/' });
    assert.equal(file?.url, `https://files.example/files/tools/${tool}.png`);
  });

  it('have the name in the URL and no size if the tool did not tell', async () => {
    const tool = newId();
    await dify.insert('tool_files', { id: tool, tenant_id: ids.workspace, mimetype: 'image/png' });
    const { file } = await readFile({ transfer_method: 'tool_file', url: `/files/tools/${tool}.png?x=1` });
    assert.deepEqual([file?.filename, file?.size, file?.mime_type], [`${tool}.png`, null, 'image/png']);
  });

  it('are remote files with decoded names', async () => {
    for (const [url, filename] of [
      ['https://pictures.example/a%20b/c%C3%A4t%20%231.png?w=9#top', 'cät #1.png'],
      ['https://pictures.example/bad%E4.png', 'bad%E4.png'],
      ['https://pictures.example/', ''],
      ['https://pictures.example', ''],
      ['data:image/png;base64,AAAA/BBBB', ''],
    ] as const) {
      const { id, file, reading } = await readFile({ transfer_method: 'remote_url', url });
      assert.deepEqual(file, {
        id,
        filename,
        type: 'image',
        url,
        mime_type: null,
        size: null,
        transfer_method: 'remote_url',
        belongs_to: 'user',
        upload_file_id: null,
      });
      assert.deepEqual(reading.skips, []);
    }
    const { file } = await readFile({
      transfer_method: 'remote_url',
      url: `https://dify.example/files/${ids.upload}/file-preview?timestamp=1&nonce=2&sign=3`,
      upload_file_id: ids.upload,
    });
    assert.deepEqual(
      [file?.filename, file?.url, file?.size],
      ['plan.pdf', `https://dify.example/files/${ids.upload}/file-preview`, 1234],
    );
  });

  it('are listed if they cannot be imported', async () => {
    const foreign = newId();
    const tenant_id = difyId(90);
    await dify.insert('upload_files', { id: foreign, tenant_id, name: 'salaries.pdf', size: 1 });
    await dify.insert('tool_files', { id: foreign, tenant_id, mimetype: 'image/png', name: 'salaries.png' });
    for (const [row, reason] of [
      [{ transfer_method: 'local_file', upload_file_id: difyId(91) }, 'upload file missing'],
      [{ transfer_method: 'local_file', upload_file_id: foreign }, 'upload file missing'],
      [{ transfer_method: 'local_file' }, 'upload file missing'],
      [{ transfer_method: 'tool_file', upload_file_id: difyId(91) }, 'tool file missing'],
      [{ transfer_method: 'tool_file', upload_file_id: foreign }, 'tool file missing'],
      [{ transfer_method: 'tool_file', url: '/files/tools/no-uuid.png' }, 'tool file missing'],
      [{ transfer_method: 'remote_url', url: '' }, 'remote file without URL'],
      [{ transfer_method: 'datasource_file', upload_file_id: ids.upload }, 'transfer method datasource_file'],
      [{ transfer_method: 'remote_url', url: 'https://a.example/b', belongs_to: 'other' }, 'not valid'],
    ] as const) {
      const { file, reading } = await readFile(row);
      assert.equal(file, undefined);
      assert.deepEqual(reasons(reading), [['message_files[0]', reason]]);
    }
  });

  it('of the same time have the order in which they were inserted', async () => {
    const message_id = await insertMessage();
    const file = { message_id, type: 'image', transfer_method: 'remote_url', url: 'https://a.example/b' };
    const fileIds = [newId(), newId(), newId(), newId()];
    const inserted = [fileIds[2], fileIds[0], fileIds[3], fileIds[1]] as string[];
    const rows = inserted.map((id) => ({ ...file, id, belongs_to: 'user', created_at: at(1) }));
    await dify.insert('message_files', ...rows);
    const files = onlyRecord(await readById(message_id)).message_files as { id: string }[];
    assert.deepEqual(
      files.map(({ id }) => id),
      inserted,
    );
  });

  it('keep their order, and their path if another one was left out', async () => {
    const message_id = await insertMessage();
    const file = { message_id, type: 'image', transfer_method: 'remote_url', url: 'https://a.example/b' };
    const [first, second, third] = [newId(), newId(), newId()];
    await dify.insert(
      'message_files',
      { ...file, id: third, belongs_to: 'other', created_at: at(3) },
      { ...file, id: second, belongs_to: 'user', created_at: at(2) },
      { ...file, id: first, transfer_method: 'datasource_file', created_at: at(1) },
    );
    const reading = await readById(message_id);
    const files = onlyRecord(reading).message_files as { id: string }[];
    assert.deepEqual(
      files.map(({ id }) => id),
      [second],
    );
    assert.deepEqual(reasons(reading), [
      ['message_files[0]', 'transfer method datasource_file'],
      ['message_files[2]', 'not valid'],
    ]);
  });
});

describe('human input of a Dify installation', () => {
  const secrets = ['RECIPIENT-TOKEN-1234567890', 'UPLOAD-TOKEN-0987654321', 'LEAKED-TOKEN-5555555555'];
  const definition = {
    form_content: 'Dear {{#$output.name#}}',
    rendered_content: 'unused',
    inputs: [
      {
        type: 'paragraph',
        output_variable_name: 'name',
        default: { type: 'variable', selector: ['start', 'name'], value: '' },
      },
      { type: 'select', output_variable_name: 'size', option_source: { type: 'constant', value: ['S', 'L'] } },
      { type: 'file', output_variable_name: 'photo', allowed_file_types: ['image'] },
      { type: 'file-list', output_variable_name: 'papers', number_limits: 3, default: { type: 'constant' } },
    ],
    user_actions: [
      { id: 'ok', title: 'Approve', button_style: 'primary' },
      { id: 'no', title: 'Reject' },
    ],
    expiration_time: '2026-11-02T00:00:00',
    default_values: { name: 'Ann', photo: { dify_model_identity: '__dify__file__', tenant_id: ids.workspace } },
    node_title: 'Ask a human',
    display_in_ui: true,
    form_token: secrets[2],
  };
  const run = difyId(70);

  const readForm = async (form: Row, content: Row = {}) => {
    const message_id = await insertMessage();
    const form_id = newId();
    await dify.insert('human_input_forms', {
      id: form_id,
      node_id: 'node-1',
      form_definition: definition,
      rendered_content: 'Dear {{#$output.name#}}, {{#$output.size#}} {{#$output.photo#}} {{#$output.papers#}}',
      expiration_time: at(1793650000.5),
      ...form,
    });
    const [type, payload] = ['console', '{}'];
    await dify.insert('human_input_form_recipients', {
      id: newId(),
      form_id,
      recipient_type: type,
      recipient_payload: payload,
      access_token: secrets[0],
    });
    await dify.insert('human_input_form_upload_tokens', { id: newId(), form_id, token: secrets[1] });
    await dify.insert('execution_extra_contents', {
      id: newId(),
      workflow_run_id: run,
      message_id,
      form_id,
      ...content,
    });
    const reading = await readById(message_id);
    assert.doesNotMatch(JSON.stringify(reading), new RegExp(secrets.join('|')), 'no token is imported');
    return { form_id, contents: onlyRecord(reading).extra_contents, reading };
  };

  it('is a form while it waits, without its token', async () => {
    const { form_id, contents, reading } = await readForm({});
    assert.deepEqual(contents, [
      {
        workflow_run_id: run,
        submitted: false,
        type: 'human_input',
        form_definition: {
          form_id,
          node_id: 'node-1',
          node_title: 'Ask a human',
          form_content: 'Dear {{#$output.name#}}, {{#$output.size#}} {{#$output.photo#}} {{#$output.papers#}}',
          inputs: [
            {
              type: 'paragraph',
              output_variable_name: 'name',
              default: { type: 'variable', selector: ['start', 'name'], value: '' },
            },
            { type: 'select', output_variable_name: 'size', default: null },
            { type: 'file', output_variable_name: 'photo', default: null },
            {
              type: 'file-list',
              output_variable_name: 'papers',
              default: { type: 'constant', selector: [], value: '' },
            },
          ],
          actions: [
            { button_style: 'primary', id: 'ok', title: 'Approve' },
            { button_style: 'default', id: 'no', title: 'Reject' },
          ],
          display_in_ui: true,
          form_token: null,
          resolved_default_values: { name: 'Ann', photo: { dify_model_identity: '__dify__file__' } },
          expiration_time: 1793650000,
        },
        form_submission_data: null,
      },
    ]);
    assert.deepEqual(reading.skips, []);
  });

  it('is a rendered text after it was submitted', async () => {
    const submitted_data = { name: 'Bo $& {{#$output.size#}}', photo: { id: 1 }, papers: [{}, {}], other: 1 };
    for (const form of [{ status: 'submitted' }, { status: 'waiting', submitted_at: at(1793640000) }]) {
      const { contents, reading } = await readForm({ ...form, selected_action_id: 'ok', submitted_data });
      assert.deepEqual(contents, [
        {
          workflow_run_id: run,
          submitted: true,
          type: 'human_input',
          form_definition: null,
          form_submission_data: {
            node_id: 'node-1',
            node_title: 'Ask a human',
            rendered_content: 'Dear Bo $& {{#$output.size#}},  [file] [2 files]',
            action_id: 'ok',
            action_text: 'Approve',
          },
        },
      ]);
      assert.deepEqual(reading.skips, []);
    }
  });

  it('has the ids of the node and of the action if there are no titles', async () => {
    const form_definition = { form_content: '', inputs: null };
    const { contents } = await readForm({ form_definition, status: 'submitted', selected_action_id: 'gone' });
    const [{ form_submission_data: data }] = contents as [{ form_submission_data: Record<string, string> }];
    assert.deepEqual([data.node_title, data.action_text], ['node-1', 'gone']);
  });

  it('is listed if it cannot be imported', async () => {
    for (const [form, content, expected] of [
      [{}, { form_id: difyId(92) }, [['extra_contents[0]', 'form missing']]],
      [{}, { form_id: null }, [['extra_contents[0]', 'form missing']]],
      [{}, { type: 'other' }, [['extra_contents[0]', 'type other']]],
      [{ status: 'submitted' }, {}, [['extra_contents[0]', 'submitted form without action']]],
      [
        { form_definition: '{"inputs"' },
        {},
        [
          ['extra_contents[0].form_definition', 'malformed JSON'],
          ['extra_contents[0]', 'form without definition'],
        ],
      ],
      [
        { form_definition: { inputs: [{ type: 'number', output_variable_name: 'n' }] } },
        {},
        [['extra_contents[0]', 'not valid']],
      ],
    ] as const) {
      const { contents, reading } = await readForm(form, content);
      assert.deepEqual(contents, []);
      assert.deepEqual(reasons(reading), expected);
    }
  });
});
