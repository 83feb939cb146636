-- Apps of any status, with what `/parameters` and `/site` show of their settings, and nothing else of them.
INSERT INTO tenants (id, name, encrypt_public_key, status) VALUES
  (id(1), 'Open', 'SECRET-public-key', 'normal'), (id(2), 'Archived', NULL, 'archive');
INSERT INTO apps (id, tenant_id, name, description, mode, app_model_config_id, workflow_id, status, enable_api, tracing) VALUES
  (id(11), id(1), 'Chat', 'Answers.', 'chat', id(21), NULL, 'normal', true, 'SECRET-trace'),
  (id(12), id(1), 'Banned, without API', '', 'chat', NULL, NULL, 'banned', false, NULL),
  (id(13), id(2), 'Of an archived workspace', '', 'agent-chat', NULL, NULL, 'normal', true, NULL),
  (id(14), id(98), 'Orphan', '', 'chat', NULL, NULL, 'normal', true, NULL),
  (id(15), id(1), 'Empty settings of moderation', '', 'chat', id(22), NULL, 'normal', true, NULL),
  (id(16), id(1), 'Flow', '', 'advanced-chat', NULL, id(31), 'normal', true, NULL),
  (id(17), id(1), 'Malformed graph', '', 'advanced-chat', NULL, id(32), 'normal', true, NULL),
  (id(18), id(1), 'Graph that is a list', '', 'advanced-chat', NULL, id(33), 'normal', true, NULL),
  (id(19), id(1), 'Nodes that are a text', '', 'advanced-chat', NULL, id(34), 'normal', true, NULL),
  (id(20), id(1), 'Variables that are an object', '', 'advanced-chat', NULL, id(35), 'normal', true, NULL),
  (id(23), id(1), 'No variables', '', 'advanced-chat', NULL, id(36), 'normal', true, NULL),
  (id(24), id(1), 'No nodes', '', 'advanced-chat', NULL, id(37), 'normal', true, NULL),
  (id(25), id(1), 'Malformed features', '', 'advanced-chat', NULL, id(38), 'normal', true, NULL);
INSERT INTO app_model_configs (id, app_id, provider, configs, opening_statement, suggested_questions,
  suggested_questions_after_answer, speech_to_text, text_to_speech, more_like_this, model, user_input_form, pre_prompt,
  agent_mode, sensitive_word_avoidance, retriever_resource, chat_prompt_config, completion_prompt_config, dataset_configs,
  external_data_tools, file_upload) VALUES
  (id(21), id(11), 'SECRET-provider', '{"api_key": "SECRET-1"}', 'How can I help?', '["Where?", "When?"]',
  '{"enabled": true, "prompt": "SECRET-prompt-1", "model": {"name": "SECRET-model"}}', '{"enabled": true, "key": "SECRET-2"}',
  '{"enabled": true, "voice": "ann", "language": "en", "autoPlay": "enabled", "api_key": "SECRET-3"}', '{"enabled": false}',
  '{"name": "SECRET-model", "completion_params": {}}',
  '[{"text-input": {"label": "City", "variable": "city", "required": true, "max_length": 48, "default": "", "secret": "SECRET-4"}},
    {"select": {"label": "Size", "variable": "size", "options": ["S", "L"]}},
    {"external_data_tool": {"variable": "x", "type": "api", "config": {"api_key": "SECRET-5"}}}]',
  'SECRET-prompt-2', '{"tools": [{"tool_parameters": {"key": "SECRET-6"}}], "prompt": "SECRET-prompt-3"}',
  '{"enabled": true, "type": "keywords", "config": {"keywords": "SECRET-word",
    "inputs_config": {"enabled": true, "preset_response": "No.", "more": "SECRET-8"}}}',
  '{"enabled": false}', '{"prompt": [{"text": "SECRET-prompt-4"}]}', '{"prompt": {"text": "SECRET-prompt-5"}}',
  '{"datasets": "SECRET-7"}', '[{"config": {"api_key": "SECRET-8"}}]',
  '{"image": {"enabled": true, "number_limits": 3, "detail": "high", "transfer_methods": ["local_file"], "token": "SECRET-9"},
    "enabled": true, "allowed_file_types": ["image"], "bucket": "SECRET-10"}');
INSERT INTO app_model_configs (id, app_id) VALUES (id(22), id(15));
INSERT INTO sites (id, app_id, title, icon_type, icon, icon_background, chat_color_theme, copyright, input_placeholder,
  custom_disclaimer, default_language, code, customize_domain) VALUES
  (id(41), id(11), 'Help', 'emoji', '🤖', '#fff', '#146c5f', '© Example', 'Type here', 'No advice.', 'de-DE', 'SECRET-code',
  'SECRET-domain');
INSERT INTO app_annotation_settings (id, app_id) VALUES (id(42), id(11));
INSERT INTO workflows (id, tenant_id, app_id, graph, features, environment_variables, conversation_variables) VALUES
  (id(31), id(1), id(16),
  '{"nodes": [
      {"data": {"type": "llm", "prompt_template": "SECRET-prompt", "variables": [{"type": "select", "label": "SECRET-7"}]}},
      {"id": "SECRET-8"},
      {"data": {"type": "start", "title": "SECRET-9", "variables": [
        {"type": "text-input", "label": "City", "variable": "city", "required": true, "max_length": 48, "key": "SECRET-10"},
        {"label": "without a type"},
        {"type": "file", "label": "Plan", "variable": "plan", "allowed_file_types": ["document"]}]}}],
    "edges": [{"source": "SECRET-11"}]}',
  '{"opening_statement": "Hello!", "suggested_questions": [], "api_key": "SECRET-1", "pre_prompt": "SECRET-2",
    "agent_mode": {"tools": [{"credentials": "SECRET-3"}]},
    "sensitive_word_avoidance": {"enabled": true, "type": "api", "config": {"api_based_extension_id": "SECRET-4"}},
    "speech_to_text": {"enabled": false}, "more_like_this": "yes"}',
  '{"token": "SECRET-5"}', '{"token": "SECRET-6"}');
INSERT INTO workflows (id, tenant_id, app_id, graph, features) VALUES
  (id(32), id(1), id(17), '{"nodes": SECRET', '{"opening_statement": "Hi"}'),
  (id(33), id(1), id(18), '["SECRET"]', '{"opening_statement": "Hi"}'),
  (id(34), id(1), id(19), '{"nodes": "SECRET"}', '{"opening_statement": "Hi"}'),
  (id(35), id(1), id(20), '{"nodes": [{"data": {"type": "start", "variables": {"a": "SECRET"}}}]}', '{"opening_statement": "Hi"}'),
  (id(36), id(1), id(23), '{"nodes": [null, {"data": {"type": "start"}}]}', '{"opening_statement": "Hi"}'),
  (id(37), id(1), id(24), '{}', '{"opening_statement": "Hi"}'),
  (id(38), id(1), id(25), '{}', '{"a": SECRET');
