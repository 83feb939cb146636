import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { RecordMapper } from '../../../src/dify/map/record-mapper.ts';
import { mapApp } from '../../../src/dify/rows/apps.ts';
import { mapDataset } from '../../../src/dify/rows/datasets.ts';
import { mapDocument, mapSegment } from '../../../src/dify/rows/documents.ts';
import { mapMessage } from '../../../src/dify/rows/messages.ts';
import { mapForm, mapThoughts } from '../../../src/dify/rows/parts.ts';
import { allRows, type RecordInput, type Skip } from '../../../src/dify/source.ts';
import { prepareRecord } from '../../../src/domain/records/prepare-record.ts';
import { difyId } from '../../support/dify-database.ts';
import { shortOrLong } from '../../support/long.ts';

const [id, other] = [difyId(1), difyId(2)];

/** Names and values that the mapping knows, in odd combinations. */
const word = fc.constantFrom(
  ...[
    'retriever_resources',
    'content',
    'score',
    'dataset_id',
    'segment_id',
    'inputs',
    'user_actions',
    'default',
    'type',
  ],
  ...['id', 'title', 'enabled', 'image', 'top_k', 'paragraph', 'ok', 'name', 'options', '__proto__', 'constructor'],
);
const leaf = fc.oneof(
  fc.string(),
  fc.double(),
  fc.bigInt().map(String),
  fc.boolean(),
  fc.constant(null),
  word,
  fc.uuid(),
);
const value = fc.letrec((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(tie('node'), { maxLength: 4 }),
    fc.array(fc.tuple(fc.oneof(word, fc.string()), tie('node')), { maxLength: 5 }).map(Object.fromEntries),
  ),
})).node;

/** The text of a cell with JSON, as Python writes it; it may be cut off. */
const cell = fc.oneof(
  fc.constantFrom(null, '', 'null', '[]', '{}', '[NaN]', '{"a": -Infinity}', '{"a\\u0000": "\\ud800"}', '{', '1e999'),
  value.map((one) => JSON.stringify(one)),
  fc.array(value, { maxLength: 5 }).map((list) => JSON.stringify({ retriever_resources: list })),
  value.map((one) => JSON.stringify(one).slice(0, -1)),
);

/** Mapped records are accepted by an import, and the same rows give the same record. */
function requireValid(map: (skips: Skip[]) => RecordInput | undefined): void {
  const skips: Skip[] = [];
  const skipsAgain: Skip[] = [];
  const record = map(skips);
  assert.deepEqual(map(skipsAgain), record);
  assert.deepEqual(skipsAgain, skips);
  if (record === undefined) assert.ok(skips.length > 0);
  else prepareRecord({ number: 1 }, JSON.stringify(record), 0, []);
}

const reportTo = (skips: Skip[]) => ({
  skip(one: Skip) {
    skips.push(one);
  },
  count() {},
});
const options = { numRuns: shortOrLong(40, 2_000) };

describe('records of any rows of a Dify installation', () => {
  it('are valid messages', () => {
    fc.assert(
      fc.property(fc.array(cell, { minLength: 6, maxLength: 6 }), fc.string(), fc.boolean(), (cells, text, flag) => {
        const [inputs = null, metadata = null, labels = null, files = null, definition = null, data = null] = cells;
        const thought = {
          id: other,
          message_id: id,
          chain_id: null,
          position: 1,
          created_at: 1,
          thought: text,
          tool: null,
        };
        const thoughts = [
          { ...thought, tool_labels_str: labels, tool_input: text, observation: null, message_files: files },
        ];
        const form = {
          ...{ message_id: id, workflow_run_id: other, type: 'human_input', form_id: other, node_id: 'n' },
          ...{ form_definition: definition, rendered_content: '{{#$output.name#}}', is_submitted: flag },
          ...{ expiration_time: 1, selected_action_id: 'ok', submitted_data: data },
        };
        const row = {
          id,
          conversation_id: other,
          workspace_id: other,
          parent_message_id: null,
          inputs,
          query: text.toWellFormed().replaceAll('\0', ''),
          answer: null,
          status: 'normal',
          error: null,
          message_metadata: metadata,
          message_tokens: 1,
          answer_tokens: 1,
          provider_response_latency: Number.NaN,
          total_price: '1',
          currency: null,
          model_provider: text.toWellFormed().replaceAll('\0', ''),
          model_id: null,
          created_at: 1,
          is_unfinished: false,
          is_open: false,
        };
        const parts = {
          message_files: () => [],
          agent_thoughts: (_: unknown, mapper: RecordMapper) => mapThoughts(mapper, thoughts),
          extra_contents: (_: unknown, mapper: RecordMapper) =>
            mapper.parts('extra_contents', [form], (one, path) => mapForm(mapper, one, path)),
          feedbackOf: () => undefined,
        };
        requireValid((skips) => mapMessage(row, parts, { options: allRows, report: reportTo(skips) }));
      }),
      options,
    );
  });

  it('are valid apps, datasets, documents and segments', () => {
    fc.assert(
      fc.property(fc.array(cell, { minLength: 10, maxLength: 10 }), fc.boolean(), (cells, isFlow) => {
        const at = (index: number): string | null => cells[index] ?? null;
        const app = {
          ...{ id, workspace_id: other, name: 'a', mode: isFlow ? 'advanced-chat' : 'chat', description: null },
          ...{
            has_annotation_reply: true,
            features: at(0),
            graph: at(3),
            config_id: other,
            site: at(1),
            opening_statement: null,
          },
          ...{ suggested_questions: at(2), suggested_questions_after_answer: at(3), speech_to_text: at(4) },
          ...{ text_to_speech: at(5), more_like_this: at(6), user_input_form: at(7), sensitive_word_avoidance: at(8) },
          ...{ retriever_resource: at(9), file_upload: at(0) },
        };
        requireValid((skips) => mapApp(app, { options: allRows, report: reportTo(skips) }));
        const texts = { description: null, indexing_technique: null, embedding_model: null, doc_form: null };
        const dataset = {
          ...{ id, workspace_id: other, name: 'd', ...texts, embedding_model_provider: null, data_source_type: null },
          ...{ created_at: 1, updated_at: Number.POSITIVE_INFINITY, provider: 'x', permission: null },
          ...{ retrieval_model: at(0), summary_index_setting: at(1), icon_info: at(2), built_in_field_enabled: null },
          ...{ runtime_mode: null, pipeline_id: null, chunk_structure: null, enable_api: true, is_multimodal: null },
          ...{ created_by: null, updated_by: null, maintainer: null },
        };
        const details = { tags: [], metadata: [], external: undefined };
        requireValid((skips) => mapDataset(dataset, details, { options: allRows, report: reportTo(skips) }));
        const document = {
          ...{ id, dataset_id: other, name: 'd', position: 1, created_at: 1, updated_at: 1, enabled: true },
          ...{ archived: false, indexing_status: 'completed', is_paused: null, doc_form: null, doc_language: null },
          ...{ data_source_type: null, data_source_info: at(3), tokens: null, doc_metadata: at(4) },
          ...{ created_by: null, disabled_at: Number.POSITIVE_INFINITY },
        };
        requireValid((skips) =>
          mapDocument(document, [{ id, name: 'title', type: 'x' }], { options: allRows, report: reportTo(skips) }),
        );
        const segment = {
          ...{ id, document_id: other, position: 1, content: '', answer: null, keywords: at(5), enabled: true },
          ...{ status: 'completed', tokens: null, hit_count: null, index_node_id: null, index_node_hash: null },
          ...{ created_at: 1, updated_at: 1, created_by: null, disabled_at: null },
        };
        requireValid((skips) => mapSegment(segment, { options: allRows, report: reportTo(skips) }));
      }),
      options,
    );
  });
});
