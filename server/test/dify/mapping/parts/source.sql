-- Files and forms of messages, and files in their inputs. Tokens of forms, and files of other workspaces, are never imported.
INSERT INTO tenants (id, name) VALUES (id(1), 'Example');
INSERT INTO apps (id, tenant_id, name, mode) VALUES (id(2), id(1), 'Help desk', 'chat');
INSERT INTO conversations (id, app_id) VALUES (id(4), id(2));
INSERT INTO messages (id, conversation_id, query, inputs, created_at)
  SELECT id(n), id(4), 'files', '{}', sec(n) FROM generate_series(101, 105) n;
INSERT INTO upload_files (id, tenant_id, name, size, mime_type) VALUES
  (id(10), id(1), 'plan.pdf', 1234, 'application/pdf'), (id(90), id(91), 'SECRET-salaries.pdf', 1, NULL);
INSERT INTO tool_files (id, tenant_id, mimetype, name, size) VALUES
  (id(11), id(1), 'image/png', 'chart 1.png', 99), (id(12), id(1), 'image/png', '', -1),
  (id(90), id(91), 'image/png', 'SECRET-salaries.png', 1);
INSERT INTO message_files (id, message_id, type, transfer_method, belongs_to, url, upload_file_id, created_at) VALUES
  -- Uploads, and files of tools, which are found by a column or by their URL.
  (id(201), id(101), 'document', 'local_file', 'user', NULL, id(10), sec(1)),
  (id(202), id(101), 'image', 'tool_file', 'assistant', format('/files/tools/%s.png?timestamp=1&nonce=2&sign=3', id(11)), id(11), sec(2)),
  (id(203), id(101), 'image', 'tool_file', 'assistant', NULL, id(11), sec(3)),
  (id(204), id(101), 'image', 'tool_file', 'assistant', format('/files/tools/%s.png?timestamp=1&nonce=2&sign=3', id(11)), NULL, sec(4)),
  (id(205), id(101), 'image', 'tool_file', 'assistant', format('/files/tools/%s.png', id(12)), NULL, sec(5)),
  -- Remote files.
  (id(211), id(102), 'image', 'remote_url', 'user', 'https://pictures.example/a%20b/c%C3%A4t%20%231.png?w=9#top', NULL, sec(1)),
  (id(212), id(102), 'image', 'remote_url', 'user', 'https://pictures.example/bad%E4.png', NULL, sec(2)),
  (id(213), id(102), 'image', 'remote_url', 'user', 'https://pictures.example/', NULL, sec(3)),
  (id(214), id(102), 'image', 'remote_url', 'user', 'https://pictures.example', NULL, sec(4)),
  (id(215), id(102), 'image', 'remote_url', 'user', 'data:image/png;base64,AAAA/BBBB', NULL, sec(5)),
  (id(216), id(102), 'image', 'remote_url', 'user',
    'https://dify.example/files/a/file-preview?timestamp=1&nonce=2&sign=3', id(10), sec(6)),
  -- They cannot be imported. The others keep their paths.
  (id(221), id(103), 'image', 'local_file', 'user', NULL, id(92), sec(1)),
  (id(222), id(103), 'image', 'local_file', 'user', NULL, id(90), sec(2)),
  (id(223), id(103), 'image', 'local_file', 'user', NULL, NULL, sec(3)),
  (id(224), id(103), 'image', 'tool_file', 'user', NULL, id(92), sec(4)),
  (id(225), id(103), 'image', 'tool_file', 'user', NULL, id(90), sec(5)),
  (id(226), id(103), 'image', 'tool_file', 'user', '/files/tools/no-uuid.png', NULL, sec(6)),
  (id(227), id(103), 'image', 'remote_url', 'user', '', NULL, sec(7)),
  (id(228), id(103), 'image', 'datasource_file', 'user', NULL, id(10), sec(8)),
  (id(229), id(103), 'image', 'remote_url', 'user', 'https://a.example/kept', NULL, sec(9)),
  (id(230), id(103), 'image', 'remote_url', 'other', 'https://a.example/b', NULL, sec(10)),
  -- Those of the same time have the order in which they were inserted.
  (id(243), id(104), 'image', 'remote_url', 'user', 'https://a.example/1', NULL, sec(1)),
  (id(241), id(104), 'image', 'remote_url', 'user', 'https://a.example/2', NULL, sec(1)),
  (id(244), id(104), 'image', 'remote_url', 'user', 'https://a.example/3', NULL, sec(1)),
  (id(242), id(104), 'image', 'remote_url', 'user', 'https://a.example/4', NULL, sec(1));
-- The ids of files in the inputs, which are in references.
UPDATE messages SET query = 'references', inputs = json_build_object(
  'known', json_build_object('dify_model_identity', '__dify__file__', 'related_id', 'x', 'reference', id(10)),
  'files', (SELECT json_agg(json_build_object('dify_model_identity', '__dify__file__', 'filename', 'a.pdf', 'reference', reference) ORDER BY n)
    FROM unnest(ARRAY['dify-file-ref:' || encode(convert_to(format('{"record_id":"%s"}', id(10)), 'UTF8'), 'base64'),
      'dify-file-ref:' || encode('{"record_id":"storage/key"}', 'base64'), 'dify-file-ref:Nw', 'dify-file-ref:%%%', id(10)::text,
      'storage/key', NULL]) WITH ORDINALITY r (reference, n))) WHERE id = id(105);

INSERT INTO messages (id, conversation_id, query, inputs, created_at)
  SELECT id(n), id(4), 'form', '{}', sec(n) FROM generate_series(301, 310) n;
INSERT INTO human_input_forms (id, node_id, form_definition, rendered_content, expiration_time, status, submitted_at, selected_action_id,
  submitted_data) SELECT id(n), 'node-1', format(
  '{"form_content": "Dear {{#$output.name#}}", "rendered_content": "unused", "inputs": [
      {"type": "paragraph", "output_variable_name": "name", "default": {"type": "variable", "selector": ["start", "name"], "value": ""}},
      {"type": "select", "output_variable_name": "size", "option_source": {"type": "constant", "value": ["S", "L"]}},
      {"type": "file", "output_variable_name": "photo", "allowed_file_types": ["image"]},
      {"type": "file-list", "output_variable_name": "papers", "number_limits": 3, "default": {"type": "constant"}}],
    "user_actions": [{"id": "ok", "title": "Approve", "button_style": "primary"}, {"id": "no", "title": "Reject"}],
    "expiration_time": "2026-11-02T00:00:00", "node_title": "Ask a human", "display_in_ui": true, "form_token": "SECRET-token",
    "default_values": {"name": "Ann", "photo": {"dify_model_identity": "__dify__file__", "tenant_id": "%s"}}}', id(1)),
  'Dear {{#$output.name#}}, {{#$output.size#}} {{#$output.photo#}} {{#$output.papers#}}', sec(50000.5), 'waiting', NULL, NULL,
  '{"name": "Bo $& {{#$output.size#}}", "photo": {"id": 1}, "papers": [{}, {}], "other": 1}' FROM generate_series(401, 407) n;
INSERT INTO human_input_form_recipients (id, form_id, recipient_type, recipient_payload, access_token) VALUES
  (id(451), id(401), 'console', '{}', 'SECRET-recipient-token');
INSERT INTO human_input_form_upload_tokens (id, form_id, token) VALUES (id(452), id(401), 'SECRET-upload-token');
UPDATE human_input_forms SET status = 'submitted', selected_action_id = 'ok' WHERE id = id(402);
UPDATE human_input_forms SET submitted_at = sec(40000), selected_action_id = 'ok' WHERE id = id(403);
UPDATE human_input_forms SET status = 'submitted', selected_action_id = 'gone',
  form_definition = '{"form_content": "", "inputs": null}' WHERE id = id(404);
UPDATE human_input_forms SET status = 'submitted' WHERE id = id(405);
UPDATE human_input_forms SET form_definition = '{"inputs"' WHERE id = id(406);
UPDATE human_input_forms SET form_definition = '{"inputs": [{"type": "number", "output_variable_name": "n"}]}' WHERE id = id(407);
INSERT INTO execution_extra_contents (id, type, workflow_run_id, message_id, form_id) VALUES
  (id(501), 'human_input', id(70), id(301), id(401)), (id(502), 'human_input', id(70), id(302), id(402)),
  (id(503), 'human_input', id(70), id(303), id(403)), (id(504), 'human_input', id(70), id(304), id(404)),
  (id(505), 'human_input', id(70), id(305), id(405)), (id(506), 'human_input', id(70), id(306), id(406)),
  (id(507), 'human_input', id(70), id(307), id(407)), (id(508), 'human_input', id(70), id(308), id(92)),
  (id(509), 'human_input', id(70), id(309), NULL), (id(510), 'other', id(70), id(310), id(401));
