-- Conversations and messages: every field, bad values, too large ones, thoughts, citations and feedback.
INSERT INTO tenants (id, name) VALUES (id(1), 'Example');
INSERT INTO apps (id, tenant_id, name, mode) VALUES (id(2), id(1), 'Help desk', 'chat');
INSERT INTO end_users (id, session_id) VALUES (id(3), 'visitor-1');
INSERT INTO conversations (id, app_id, from_end_user_id, name, inputs, introduction, is_deleted, created_at, updated_at) VALUES
  (id(4), id(2), id(3), 'Late delivery', '{"z": "ä", "a": {"n": 9007199254740993, "x": "\u0000\ud800"}}', 'Hello!', false,
  sec(0.9), sec(500)),
  (id(5), id(2), NULL, 'New conversation', '{}', NULL, true, sec(0.9), sec(0.9)),
  (id(51), id(2), id(96), '', '{}', NULL, false, sec(1), sec(1)),
  (id(52), id(98), NULL, 'orphan', '{}', NULL, false, sec(1), sec(1));
-- Empty inputs instead of null, a list or too large ones.
INSERT INTO conversations (id, app_id, name, inputs, introduction, created_at, updated_at)
SELECT id(400 + n::int), id(2), 'inputs ' || n, inputs::json, 'kept', sec(1), sec(1) FROM unnest(ARRAY[NULL, 'null', '[]', '[1]', '"text"',
  repeat('{"a":', 120) || 1 || repeat('}', 120), '{"a": "' || repeat('x', 4194304) || '"}']) WITH ORDINALITY i (inputs, n);
INSERT INTO conversations (id, app_id, name, from_source, from_account_id) VALUES (id(53), id(2), 'of the console', 'console', id(77));

INSERT INTO messages (id, conversation_id, parent_message_id, inputs, query, answer, message_tokens, answer_tokens,
  provider_response_latency, total_price, currency, model_provider, model_id, created_at) VALUES
  (id(21), id(4), id(22), '{"z": 1, "a": [true, null]}', 'Where?', 'Here.', 12, 34, 1.75, 0.00002, 'EUR', 'harbour/lantern/lantern',
  '', sec(100.999));
INSERT INTO messages (id, conversation_id, query, inputs, answer, status, error, provider_response_latency, total_price,
  message_metadata, created_at) VALUES
  (id(22), id(4), 'paused', NULL, 'a', 'paused', 'why', 0, NULL, NULL, sec(101)),
  (id(23), id(4), 'failed', '[]', '', 'error', 'why', 0, NULL, '', sec(102)),
  (id(24), id(4), 'bad numbers', '{}', 'kept', 'normal', NULL, 'Infinity', 'NaN', 'null', sec(103)),
  (id(25), id(4), 'too large', '{}', repeat('x', 4194305), 'normal', NULL, 0, NULL, NULL, sec(104)),
  (id(26), id(4), 'too large as JSON', '{}', repeat('"', 4193304), 'normal', NULL, 0, NULL, NULL, sec(105)),
  (id(27), id(4), 'malformed metadata', '{}', 'a', 'normal', NULL, 0, NULL, '{"retriever_resources": [', sec(106)),
  (id(28), id(4), 'metadata that is a list', '{}', 'a', 'normal', NULL, 0, NULL, '[1]', sec(107)),
  (id(29), id(4), 'citations that are an object', '{}', 'a', 'normal', NULL, 0, NULL, '{"retriever_resources": {"0": {}}}', sec(108)),
  (id(30), id(4), 'no citations', '{}', 'a', 'normal', NULL, 0, NULL, '{"retriever_resources": null}', sec(109)),
  (id(31), id(97), 'orphan', '{}', 'a', 'normal', NULL, 0, NULL, NULL, sec(110)),
  (id(32), id(52), 'of an orphan', '{}', 'a', 'normal', NULL, 0, NULL, NULL, sec(110)),
  (id(33), id(4), 'thoughts and feedback', '{}', 'a', 'normal', NULL, 0, NULL, '{}', sec(111)),
  (id(34), id(4), 'citations, also of external knowledge', '{}', 'a', 'normal', NULL, 0, NULL, format(
  '{"usage": {"total_price": "0"}, "retriever_resources": [
    {"position": 4, "dataset_id": "%1$s", "dataset_name": "Handbook", "document_id": "%2$s", "document_name": "guide.md",
     "data_source_type": "upload_file", "segment_id": "%3$s", "retriever_from": "workflow", "score": 0.5, "hit_count": 3.0,
     "word_count": "7", "segment_position": 2, "index_node_hash": "hash", "content": "Unplug it.", "summary": "How to unplug",
     "doc_metadata": {"owner": "someone"}, "page": null},
    {"dataset_id": "%1$s", "document_id": "A title", "segment_id": null, "content": "far away", "title": "A title",
     "score": 0.25, "data_source_type": "external"},
    {"dataset_id": "", "document_id": "A title", "segment_id": null, "content": "far away"},
    {"position": null, "dataset_id": null, "document_id": null, "score": null, "content": null}]}', id(6), id(7), id(8)), sec(112)),
  (id(35), id(4), 'the same chunk of external knowledge', '{}', 'a', 'normal', NULL, 0, NULL, format(
  '{"retriever_resources": [{"dataset_id": "%s", "document_id": "A title", "segment_id": null, "content": "far away"}]}', id(6)), sec(113)),
  (id(36), id(4), 'bad citations', '{}', 'a', 'normal', NULL, 0, NULL, format(
  '{"retriever_resources": ["text", {"dataset_id": "%s", "document_id": "%s", "segment_id": "%s", "content": "good"},
    {"content": {"no": "text"}, "hit_count": 1.5, "score": NaN, "position": 9007199254740993}, null]}', id(6), id(7), id(8)), sec(114));
INSERT INTO message_agent_thoughts (id, message_id, message_chain_id, position, thought, tool, tool_labels_str, tool_input,
  observation, message_files, created_at) VALUES
  (id(63), id(33), NULL, 2, NULL, NULL, '{bad', NULL, NULL, '{"a": 1}', sec(1)),
  (id(62), id(33), NULL, 1, NULL, NULL, '[]', NULL, NULL, '["f1", 2, {}]', sec(3)),
  (id(61), id(33), id(55), 1, 'Hm.', 'search;clock', '{"search": {"en_US": "Search"}}', '{"q": 1}', 'found', '', sec(2.5));
INSERT INTO message_feedbacks (message_id, from_source, rating, content, created_at) VALUES
  (id(33), 'user', 'dislike', 'Wrong.', sec(300)), (id(33), 'user', 'like', 'older', sec(200)),
  (id(33), 'admin', 'like', 'internal', sec(400));
