-- Datasets, documents, segments and child chunks of any status, without credentials. What is too large is skipped.
INSERT INTO tenants (id, name) VALUES (id(1), 'Example');
INSERT INTO datasets (id, tenant_id, name, description, provider, permission, data_source_type, indexing_technique, index_struct,
  embedding_model, embedding_model_provider, retrieval_model, summary_index_setting, icon_info, runtime_mode, pipeline_id,
  chunk_structure, maintainer, created_at, updated_at) VALUES
  (id(6), id(1), 'Handbook', 'How to use it', 'external', 'all_team_members', 'upload_file', 'high_quality',
  '{"api_key": "SECRET-1"}', 'embed-1', 'acme/acme/acme',
  '{"search_method": "hybrid_search", "top_k": 4, "reranking_enable": true, "score_threshold": null, "secret": "SECRET-3",
    "reranking_model": {"reranking_provider_name": "acme", "reranking_model_name": "rerank-1", "api_key": "SECRET-2"}}',
  '{"enable": true, "model_name": "m", "model_provider_name": "p", "summary_prompt": "SECRET-prompt"}',
  '{"icon_type": "emoji", "icon": "📙", "icon_background": "#fff",
    "icon_url": "https://dify.example/files/a/image-preview?timestamp=1&nonce=2&sign=3"}',
  'rag_pipeline', id(71), 'hierarchical_model', id(89), sec(0.7), sec(100.7));
INSERT INTO datasets (id, tenant_id, name) VALUES (id(61), id(1), 'Plain');
INSERT INTO datasets (id, tenant_id, name, retrieval_model, icon_info, enable_api, description) VALUES
  (id(62), id(1), 'Wrong settings, and closed', '{"top_k": "many"}', '[1]', false, repeat('x', 4194304));
INSERT INTO tags (id, tenant_id, type, name) VALUES (id(81), id(1), 'knowledge', 'Manuals'), (id(82), id(1), 'app', 'of an app'),
  (id(83), id(90), 'knowledge', 'of another workspace');
INSERT INTO tag_bindings (tenant_id, target_id, tag_id) SELECT id(1), id(6), id(tag) FROM unnest(ARRAY[81, 81, 82, 83, 84]) tag;
INSERT INTO dataset_metadatas (id, dataset_id, type, name) VALUES (id(85), id(6), 'string', 'author');
INSERT INTO external_knowledge_apis (id, tenant_id, name, settings) VALUES
  (id(86), id(1), 'Elsewhere', '{"endpoint": "https://SECRET.example", "api_key": "SECRET-4"}');
INSERT INTO external_knowledge_bindings (tenant_id, external_knowledge_api_id, dataset_id, external_knowledge_id) VALUES
  (id(1), id(86), id(6), 'kb-1');

INSERT INTO documents (id, dataset_id, name, position, data_source_type, data_source_info, tokens, created_by, disabled_at,
  enabled, archived, doc_form, doc_language, doc_metadata, created_at, updated_at) VALUES
  (id(7), id(6), 'page.html', 7, 'website_crawl',
  '{"url": "https://dify.example/files/a/image-preview?timestamp=1&nonce=2&sign=3", "mode": "crawl", "credential_id": "SECRET-1",
    "nested": [{"api_key": "SECRET-2", "a": 1}]}',
  12, id(89), sec(0.7), false, true, 'qa_model', 'English',
  '{"author": "Ann", "uploader": "Bo", "upload_date": 1793600000.5, "year": 2026}', sec(0.7), sec(100.7));
INSERT INTO dataset_metadata_bindings (dataset_id, metadata_id, document_id) VALUES (id(6), id(85), id(7));
INSERT INTO documents (id, dataset_id, name, indexing_status, is_paused, data_source_info, doc_metadata) VALUES
  (id(701), id(6), 'waiting.md', 'waiting', false, NULL, NULL), (id(702), id(6), 'paused.md', 'indexing', true, NULL, NULL),
  (id(703), id(6), 'failed.md', 'error', true, NULL, NULL), (id(704), id(97), 'orphan.md', 'completed', false, NULL, NULL),
  (id(705), id(6), 'bad values.md', 'completed', false, '{oops', '["a"]');

INSERT INTO document_segments (id, document_id, position, content, answer, keywords, enabled, status, tokens, hit_count,
  index_node_id, index_node_hash, created_by, disabled_at, created_at, updated_at) VALUES
  (id(8), id(7), 3, 'What is it? ![](https://dify.example/files/a/image-preview?timestamp=1&nonce=2&sign=3)', 'A lid.',
  '["lid", "open"]', false, 'completed', 9, 4, 'n1', 'h1', id(89), sec(0.7), sec(0.7), sec(100.7));
INSERT INTO document_segments (id, document_id, position, content, status) SELECT id(800 + n::int), id(701), n, status, status
  FROM unnest(ARRAY['waiting', 'indexing', 'completed', 'paused', 'error', 're_segment']) WITH ORDINALITY s (status, n);
INSERT INTO document_segments (id, document_id, position, content, keywords) VALUES (id(810), id(96), 1, 'orphan', NULL),
  (id(811), id(701), 11, 'keywords that are an object', '{"a": 1}'),
  (id(812), id(701), 12, 'keywords of any type', '["a", 2, {"b": 3}, null]'), (id(813), id(701), 13, 'null', 'null'),
  (id(814), id(701), 14, repeat('x', 4194305), NULL), (id(815), id(701), 15, repeat('"', 4193304), NULL),
  (id(816), id(701), 16, repeat('x', 2097152), NULL);
INSERT INTO child_chunks (id, segment_id, position, content, word_count, index_node_id, index_node_hash, type, created_at,
  updated_at) VALUES (id(9), id(8), 2, 'It is a lid.', 12, 'n2', 'h2', 'customized', sec(0.7), sec(100.7));
INSERT INTO child_chunks (id, segment_id, position, content) VALUES
  (id(901), id(801), 1, 'of a waiting segment'), (id(902), id(95), 1, 'orphan'), (id(903), id(814), 1, 'of a large segment'),
  (id(904), id(815), 1, 'of a segment whose JSON is too large'), (id(905), id(801), 2, repeat('x', 4194305)),
  (id(906), id(816), 1, 'of a segment that is just not too large');
