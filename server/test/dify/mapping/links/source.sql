-- options: {"filesBase": "https://files.example/"}
-- Signatures of links are removed everywhere, and their host is replaced.
INSERT INTO tenants (id, name) VALUES (id(1), 'Example');
INSERT INTO apps (id, tenant_id, name, mode) VALUES (id(2), id(1), 'Help desk', 'chat');
INSERT INTO conversations (id, app_id) VALUES (id(4), id(2));
INSERT INTO messages (id, conversation_id, query, answer, error, inputs, message_metadata, created_at)
SELECT id(21), id(4), link, '![a](' || link || ')', link, json_build_object(
  'file', json_build_object('dify_model_identity', '__dify__file__', 'id', 'f1', 'tenant_id', id(1),
    'storage_key', 'upload_files/SECRET.pdf', 'filename', 'a.pdf', 'remote_url', NULL, 'url', link, 'related_id', id(10)),
  'files', json_build_array(json_build_object('dify_model_identity', '__dify__file__', 'tenant_id', id(1), 'url', link)),
  'other', json_build_object('tenant_id', 'kept')),
  json_build_object('retriever_resources', json_build_array(json_build_object('content', link))), sec(1)
FROM (SELECT 'https://dify.example/files/a/file-preview?timestamp=1&nonce=2&sign=3' AS link) l;
INSERT INTO message_agent_thoughts (id, message_id, position, thought, tool_input, observation)
  SELECT id(31), id, 1, query, query, query FROM messages;
INSERT INTO upload_files (id, tenant_id, name, size, mime_type) VALUES (id(10), id(1), 'plan.pdf', 1234, 'application/pdf');
INSERT INTO tool_files (id, tenant_id, mimetype, name, size) VALUES (id(11), id(1), 'image/png', 'chart 1.png', 99);
INSERT INTO message_files (id, message_id, type, transfer_method, belongs_to, upload_file_id, created_at) VALUES
  (id(41), id(21), 'document', 'local_file', 'user', id(10), sec(1)), (id(42), id(21), 'image', 'tool_file', 'user', id(11), sec(2));
