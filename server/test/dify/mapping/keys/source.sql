-- Keys that Dify would reject are revoked; a knowledge key reaches what is open to the API.
INSERT INTO tenants (id, name, status) VALUES
  (id(1), 'Open', 'normal'), (id(2), 'Closed', 'normal'), (id(3), 'Mixed', 'normal'), (id(4), 'Archived', 'archive'),
  (id(5), 'Without an owner', 'normal');
INSERT INTO tenant_account_joins (tenant_id) SELECT id FROM tenants WHERE id <> id(5);
INSERT INTO apps (id, tenant_id, name, mode, status, enable_api) VALUES
  (id(11), id(1), 'Chat', 'chat', 'normal', true), (id(12), id(1), 'No API', 'chat', 'normal', false),
  (id(13), id(1), 'Abnormal', 'chat', 'banned', true), (id(14), id(4), 'Archived', 'chat', 'normal', true),
  (id(15), id(98), 'Orphan', 'chat', 'normal', true), (id(16), id(5), 'Without an owner', 'chat', 'normal', true);
INSERT INTO datasets (id, tenant_id, name, enable_api) VALUES
  (id(201), id(1), 'Open', true), (id(202), id(2), 'Closed', false), (id(203), id(3), 'Mixed 1', true),
  (id(204), id(3), 'Mixed 2, closed', false), (id(205), id(3), 'Mixed 3', true);
INSERT INTO api_tokens (id, type, token, app_id, tenant_id, created_at) VALUES
  (id(101), 'app', 'app-TOKEN-1', id(11), NULL, sec(1)), (id(102), 'app', 'app-TOKEN-2', id(12), NULL, sec(2)),
  (id(103), 'app', 'app-TOKEN-3', id(13), NULL, sec(3)), (id(104), 'app', 'app-TOKEN-4', id(14), NULL, sec(4)),
  (id(105), 'app', 'app-TOKEN-5', id(15), NULL, sec(5)), (id(106), 'app', 'app-TOKEN-6', id(99), id(1), sec(6)),
  (id(107), 'dataset', 'dataset-TOKEN-7', NULL, id(1), sec(7)), (id(108), 'dataset', 'dataset-TOKEN-8', NULL, id(2), sec(8)),
  (id(109), 'dataset', 'dataset-TOKEN-9', NULL, id(3), sec(9)), (id(110), 'dataset', 'dataset-TOKEN-10', NULL, id(4), sec(10)),
  (id(111), 'dataset', 'dataset-TOKEN-11', NULL, NULL, sec(11)), (id(112), 'other', 'other-TOKEN-12', NULL, id(1), sec(12)),
  -- Equal tokens: the newest row counts, also if its app is disabled.
  (id(113), 'app', 'app-TOKEN-twice', id(11), NULL, sec(13)), (id(114), 'app', 'app-TOKEN-twice', id(12), NULL, sec(14)),
  (id(115), 'app', 'app-TOKEN-again', id(12), NULL, sec(15)), (id(116), 'app', 'app-TOKEN-again', id(11), NULL, sec(16)),
  (id(117), 'app', '', id(11), NULL, sec(17)), (id(118), 'app', 'app-TOKEN-18', id(16), NULL, sec(18));
