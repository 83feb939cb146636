import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readConversations } from '../../../src/dify/rows/conversations.ts';
import { readKeys } from '../../../src/dify/rows/keys.ts';
import { readChildChunks, readDatasets, readDocuments, readSegments } from '../../../src/dify/rows/knowledge.ts';
import { readMessages } from '../../../src/dify/rows/messages.ts';
import { readApps, readWorkspaces } from '../../../src/dify/rows/workspaces.ts';
import type { DifySource } from '../../../src/dify/source.ts';
import { createDify, type DifyDatabase, difyRows, ids } from '../../support/dify-database.ts';
import { onlyRecord, read } from './readers.ts';

/** Tables and columns that older versions do not have. */
const later = `
  DROP TABLE app_annotation_settings, sites, app_model_configs, workflows, execution_extra_contents, human_input_forms,
    human_input_form_recipients, human_input_form_upload_tokens, tool_files, tags, tag_bindings, external_knowledge_apis,
    external_knowledge_bindings, dataset_metadatas, dataset_metadata_bindings, message_agent_thoughts, message_feedbacks, tenant_account_joins;
  ALTER TABLE datasets DROP COLUMN enable_api, DROP COLUMN chunk_structure, DROP COLUMN icon_info,
    DROP COLUMN summary_index_setting, DROP COLUMN retrieval_model, DROP COLUMN is_multimodal, DROP COLUMN pipeline_id,
    DROP COLUMN runtime_mode, DROP COLUMN built_in_field_enabled, DROP COLUMN embedding_model,
    DROP COLUMN embedding_model_provider, DROP COLUMN created_by, DROP COLUMN updated_by,
    DROP COLUMN maintainer;
  ALTER TABLE documents DROP COLUMN created_by, DROP COLUMN disabled_at, DROP COLUMN doc_language, DROP COLUMN doc_metadata;
  ALTER TABLE document_segments DROP COLUMN updated_at, DROP COLUMN created_by, DROP COLUMN disabled_at;`;

describe('a Dify installation without later tables and columns', () => {
  let dify: DifyDatabase;
  let source: DifySource;
  before(async () => {
    dify = await createDify();
    await dify.run(difyRows);
    await dify.run(later);
    source = await dify.connect();
  });
  after(() => dify.close());

  it('is read with what it has', async () => {
    const datasets = await read(source, readDatasets);
    const readings = [
      await read(source, readWorkspaces),
      await read(source, readApps),
      datasets,
      await read(source, readKeys, {}, 1, datasets.records),
      await read(source, readConversations, {}, [ids.conversation]),
      await read(source, readMessages, {}, { conversationIds: [ids.conversation] }),
      await read(source, readDocuments, {}, [ids.document]),
      await read(source, readSegments, {}, [ids.segment]),
      await read(source, readChildChunks, {}, [ids.chunk]),
    ];
    assert.deepEqual(
      readings.map(({ records }) => records.length),
      [1, 1, 1, 2, 1, 3, 1, 1, 1],
    );
    assert.deepEqual(
      readings.flatMap(({ skips }) => skips.map(({ reason }) => reason)),
      ['app missing'],
    );
    const dataset = onlyRecord(datasets);
    assert.deepEqual([dataset.doc_form, dataset.tags], ['text_model', []]);
    const reranking_model = { reranking_provider_name: '', reranking_model_name: '' };
    assert.deepEqual(dataset.settings, {
      ...{ provider: 'vendor', permission: 'only_me', enable_api: true },
      retrieval_model_dict: { reranking_model },
    });
    assert.deepEqual(
      readings[3]?.records.map(({ dataset_ids }) => dataset_ids),
      [null, null],
    );
    const segment = readings[7]?.records[0];
    assert.equal(segment?.updated_at, segment?.created_at);
  });

  it('is read with older tables of thoughts, feedback and files', async () => {
    await dify.run(`
      CREATE TABLE message_agent_thoughts (id uuid, message_id uuid, message_chain_id uuid, position integer, thought text,
        tool text, tool_input text, observation text, created_at timestamp);
      CREATE TABLE message_feedbacks (id uuid, message_id uuid, rating varchar, from_source varchar, created_at timestamp);
      CREATE TABLE tool_files (id uuid, tenant_id uuid, mimetype varchar, file_key varchar);
      INSERT INTO message_agent_thoughts VALUES ('${ids.user}', '${ids.app}', NULL, 1, 'Hm.', NULL, NULL, NULL, now());
      INSERT INTO message_feedbacks VALUES ('${ids.user}', '${ids.app}', 'like', 'user', now());
      INSERT INTO tool_files VALUES ('${ids.chunk}', '${ids.workspace}', 'image/png', 'x');
      INSERT INTO message_files VALUES ('${ids.user}', '${ids.app}', 'image', 'tool_file', NULL, NULL, '${ids.chunk}', now());
      INSERT INTO messages (id, conversation_id, created_at)
        VALUES ('${ids.app}', '${ids.conversation}', now() - interval '1 day')`);
    const older = await dify.connect();
    const reading = await read(older, readMessages, {}, { messageIds: [ids.app] });
    const record = onlyRecord(reading);
    const [thought] = record.agent_thoughts as Record<string, unknown>[];
    const [file] = record.message_files as Record<string, unknown>[];
    assert.deepEqual([thought?.thought, thought?.tool_labels, thought?.files], ['Hm.', {}, []]);
    assert.deepEqual([file?.filename, file?.mime_type, file?.size], ['', 'image/png', null]);
    assert.deepEqual([record.feedback, record.feedback_content], [{ rating: 'like' }, null]);
    assert.deepEqual(reading.skips, []);
  });
});
