/** Placement of the tables on a distributed PostgreSQL: small ones on every node, large ones by one column. */
export const distribution: {
  control: readonly string[];
  reference: readonly string[];
  distributed: Readonly<Record<string, string>>;
  single: readonly string[];
} = {
  /** Needed to migrate. They are on every node, so that a service can use any node. */
  control: ['leases', 'schema_migrations'],
  reference: [
    'workspaces',
    'apps',
    'api_keys',
    'persons',
    'datasets',
    'model_providers',
    'model_entries',
    'console_sessions',
    'service_values',
  ],
  distributed: {
    conversations: 'conversation_id',
    messages: 'conversation_id',
    conversation_days: 'conversation_id',
    reviews: 'conversation_id',
    item_appends: 'conversation_id',
    tombstones: 'conversation_id',
    documents: 'dataset_id',
    segments: 'dataset_id',
    child_chunks: 'dataset_id',
    child_chunk_revisions: 'dataset_id',
    audit_entries: 'scope',
    change_outbox: 'scope',
    search_messages: 'conversation_id',
    search_chunks: 'dataset_id',
  },
  /** On one node: positions are one sequence, and only one process imports from a source, or counts for users, at a time. */
  single: [
    'changes_head',
    'changes',
    'import_sources',
    'import_source_records',
    'doubts',
    'search_state',
    'search_citations',
    'user_totals',
    'key_requests',
    'audit_reads',
    'jobs',
  ],
};

/** Follows the parameter of a statement that has its distribution value, or a list of them. See `Statement`. */
export const shardMark = '/*@*/';

/** For the parameter of a column. */
export const markOf = (table: string, column: string): string =>
  distribution.distributed[table] === column ? shardMark : '';
