-- Exports records from a Dify database, parents first. It only reads, from one snapshot:
--   psql -qAtX -v ON_ERROR_STOP=1 -f records.sql "$DIFY_DATABASE_URL" > dify.ndjson
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;

SELECT jsonb_build_object('record', 'workspace', 'id', id, 'name', name)
FROM tenants;

SELECT jsonb_build_object('record', 'app', 'id', id, 'workspace_id', tenant_id, 'name', name, 'mode', mode)
FROM apps;

-- Keys stay valid; only their digests are exported.
SELECT jsonb_build_object(
  'record', 'api_key',
  'id', k.id,
  'kind', CASE k.type WHEN 'app' THEN 'app' ELSE 'knowledge' END,
  'workspace_id', coalesce(a.tenant_id, k.tenant_id),
  'app_id', a.id,
  'name', 'from Dify',
  'digest', encode(sha256(convert_to(k.token, 'UTF8')), 'hex'),
  'created_at', floor(extract(epoch FROM k.created_at)))
FROM api_tokens k
LEFT JOIN apps a ON a.id = k.app_id AND k.type = 'app'
WHERE a.id IS NOT NULL OR k.type = 'dataset' AND k.tenant_id IS NOT NULL;

-- Conversations of accounts in Dify's console have no end user.
SELECT jsonb_build_object(
  'record', 'conversation',
  'id', c.id,
  'app_id', c.app_id,
  'user', u.session_id,
  'created_at', floor(extract(epoch FROM c.created_at)),
  'deleted', c.is_deleted)
FROM conversations c
JOIN apps a ON a.id = c.app_id
LEFT JOIN end_users u ON u.id = c.from_end_user_id;

-- Sorted: the order of import decides between messages of the same second.
SELECT jsonb_build_object(
  'record', 'message',
  'id', m.id,
  'conversation_id', m.conversation_id,
  'parent_message_id', m.parent_message_id,
  'inputs', coalesce(m.inputs, '{}'),
  'query', m.query,
  'answer', m.answer,
  'status', CASE m.status WHEN 'error' THEN 'error' ELSE 'normal' END,
  'error', m.error,
  'created_at', floor(extract(epoch FROM m.created_at)),
  'message_tokens', m.message_tokens,
  'answer_tokens', m.answer_tokens,
  'provider_response_latency', m.provider_response_latency,
  'total_price', m.total_price::text,
  'currency', m.currency,
  'feedback', (
    SELECT jsonb_build_object('rating', f.rating)
    FROM message_feedbacks f
    WHERE f.message_id = m.id AND f.from_source = 'user' AND f.rating IN ('like', 'dislike')
    ORDER BY f.created_at DESC LIMIT 1),
  -- Files are not exported. Dify signs the addresses of uploads for each reader, so they are left out.
  'message_files', coalesce((
    SELECT jsonb_agg(jsonb_build_object(
      'id', f.id,
      'filename', coalesce(u.name, regexp_replace(split_part(f.url, '?', 1), '^.*/', ''), ''),
      'type', f.type,
      'url', CASE f.transfer_method WHEN 'remote_url' THEN f.url END,
      'mime_type', u.mime_type,
      'size', u.size,
      'transfer_method', f.transfer_method,
      'belongs_to', f.belongs_to,
      'upload_file_id', f.upload_file_id) ORDER BY f.created_at, f.id)
    FROM message_files f
    LEFT JOIN upload_files u ON u.id = f.upload_file_id
    WHERE f.message_id = m.id AND f.transfer_method IN ('remote_url', 'local_file', 'tool_file')), '[]'),
  'agent_thoughts', coalesce((
    SELECT jsonb_agg(jsonb_build_object(
      'id', t.id,
      'chain_id', t.message_chain_id,
      'message_id', t.message_id,
      'position', t.position,
      'thought', coalesce(t.thought, ''),
      'tool', coalesce(t.tool, ''),
      'tool_labels', coalesce(nullif(t.tool_labels_str, ''), '{}')::jsonb,
      'tool_input', coalesce(t.tool_input, ''),
      'observation', coalesce(t.observation, ''),
      'files', coalesce(nullif(t.message_files, ''), '[]')::jsonb,
      'created_at', floor(extract(epoch FROM t.created_at))) ORDER BY t.position)
    FROM message_agent_thoughts t
    WHERE t.message_id = m.id), '[]'),
  -- Dify generates the id of a citation on each read. Here it gets a stable one.
  'retriever_resources', coalesce((
    SELECT jsonb_agg(jsonb_build_object(
      'id', md5(m.id::text || r.nth)::uuid,
      'message_id', m.id,
      'position', coalesce((r.one ->> 'position')::int, r.nth),
      'dataset_id', r.one ->> 'dataset_id',
      'dataset_name', coalesce(r.one ->> 'dataset_name', ''),
      'document_id', r.one ->> 'document_id',
      'document_name', coalesce(r.one ->> 'document_name', ''),
      'data_source_type', coalesce(r.one ->> 'data_source_type', ''),
      'segment_id', r.one ->> 'segment_id',
      'score', coalesce((r.one ->> 'score')::float, 0),
      'hit_count', coalesce((r.one ->> 'hit_count')::int, 0),
      'word_count', coalesce((r.one ->> 'word_count')::int, 0),
      'segment_position', coalesce((r.one ->> 'segment_position')::int, 0),
      'index_node_hash', coalesce(r.one ->> 'index_node_hash', ''),
      'content', coalesce(r.one ->> 'content', ''),
      'summary', r.one ->> 'summary',
      'created_at', floor(extract(epoch FROM m.created_at))) ORDER BY r.nth)
    FROM jsonb_array_elements(
      CASE jsonb_typeof(nullif(m.message_metadata, '')::jsonb -> 'retriever_resources')
        WHEN 'array' THEN m.message_metadata::jsonb -> 'retriever_resources' ELSE '[]' END
    ) WITH ORDINALITY AS r(one, nth)
    WHERE r.one ->> 'dataset_id' IS NOT NULL
      AND r.one ->> 'document_id' IS NOT NULL
      AND r.one ->> 'segment_id' IS NOT NULL), '[]'))
FROM messages m
JOIN conversations c ON c.id = m.conversation_id
JOIN apps a ON a.id = c.app_id
ORDER BY m.created_at, m.id;

SELECT jsonb_build_object('record', 'dataset', 'id', id, 'workspace_id', tenant_id, 'name', name)
FROM datasets;

SELECT jsonb_build_object('record', 'document', 'id', d.id, 'dataset_id', d.dataset_id, 'name', d.name)
FROM documents d
JOIN datasets s ON s.id = d.dataset_id;

SELECT jsonb_build_object(
  'record', 'segment', 'id', g.id, 'document_id', g.document_id, 'position', g.position, 'content', g.content)
FROM document_segments g
JOIN documents d ON d.id = g.document_id
JOIN datasets s ON s.id = d.dataset_id;

-- Without word_count: Backscroll counts words, Dify characters.
SELECT jsonb_build_object(
  'record', 'child_chunk',
  'id', h.id,
  'segment_id', h.segment_id,
  'content', h.content,
  'position', h.position,
  'type', h.type,
  'created_at', floor(extract(epoch FROM h.created_at)),
  'updated_at', floor(extract(epoch FROM h.updated_at)))
FROM child_chunks h
JOIN document_segments g ON g.id = h.segment_id
JOIN documents d ON d.id = g.document_id
JOIN datasets s ON s.id = d.dataset_id;

COMMIT;
