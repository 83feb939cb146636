-- An installation without later tables and columns, and with older tables of thoughts, feedback and files.
INSERT INTO tenants (id, name) VALUES (id(1), 'Example');
INSERT INTO apps (id, tenant_id, name, mode) VALUES (id(2), id(1), 'Help desk', 'advanced-chat');
INSERT INTO api_tokens (id, type, token, app_id, tenant_id) VALUES (id(31), 'app', 'app-TOKEN-1', id(2), NULL),
  (id(32), 'dataset', 'dataset-TOKEN-2', NULL, id(1));
INSERT INTO conversations (id, app_id) VALUES (id(4), id(2));
INSERT INTO messages (id, conversation_id, created_at) VALUES (id(21), id(4), sec(1));
INSERT INTO datasets (id, tenant_id, name) VALUES (id(6), id(1), 'Handbook');
INSERT INTO documents (id, dataset_id, name) VALUES (id(7), id(6), 'guide.md');
INSERT INTO document_segments (id, document_id, position, content) VALUES (id(8), id(7), 1, 'Unplug it first.');
INSERT INTO child_chunks (id, segment_id, position, content) VALUES (id(9), id(8), 1, 'Unplug it first.');
DROP TABLE app_annotation_settings, sites, app_model_configs, workflows, execution_extra_contents, human_input_forms,
  human_input_form_recipients, human_input_form_upload_tokens, tool_files, tags, tag_bindings, external_knowledge_apis,
  external_knowledge_bindings, dataset_metadatas, dataset_metadata_bindings, message_agent_thoughts, message_feedbacks,
  tenant_account_joins;
ALTER TABLE datasets DROP COLUMN enable_api, DROP COLUMN chunk_structure, DROP COLUMN icon_info, DROP COLUMN summary_index_setting,
  DROP COLUMN retrieval_model, DROP COLUMN is_multimodal, DROP COLUMN pipeline_id, DROP COLUMN runtime_mode,
  DROP COLUMN built_in_field_enabled, DROP COLUMN embedding_model, DROP COLUMN embedding_model_provider, DROP COLUMN created_by,
  DROP COLUMN updated_by, DROP COLUMN maintainer;
ALTER TABLE documents DROP COLUMN created_by, DROP COLUMN disabled_at, DROP COLUMN doc_language, DROP COLUMN doc_metadata;
ALTER TABLE document_segments DROP COLUMN updated_at, DROP COLUMN created_by, DROP COLUMN disabled_at;
CREATE TABLE message_agent_thoughts (id uuid, message_id uuid, message_chain_id uuid, position integer, thought text, tool text,
  tool_input text, observation text, created_at timestamp);
CREATE TABLE message_feedbacks (id uuid, message_id uuid, rating varchar, from_source varchar, created_at timestamp);
CREATE TABLE tool_files (id uuid, tenant_id uuid, mimetype varchar, file_key varchar);
INSERT INTO message_agent_thoughts VALUES (id(61), id(21), NULL, 1, 'Hm.', NULL, NULL, NULL, sec(1));
INSERT INTO message_feedbacks VALUES (id(62), id(21), 'like', 'user', sec(1));
INSERT INTO tool_files VALUES (id(11), id(1), 'image/png', 'x');
INSERT INTO message_files VALUES (id(41), id(21), 'image', 'tool_file', NULL, NULL, id(11), sec(1));
