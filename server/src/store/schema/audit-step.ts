/**
 * The migration step for the filters of the audit log. Entries about single writes of child chunks get the document of the
 * chunk. Imports are the bulk of the log, so an index that they do not need leaves them out.
 */
export const auditStep: readonly string[] = [
  'ALTER TABLE audit_entries ADD COLUMN document_id TEXT',
  `UPDATE audit_entries SET document_id = places.document_id FROM (
     SELECT c.dataset_id, c.id, s.document_id
     FROM child_chunks c JOIN segments s ON s.dataset_id = c.dataset_id AND s.id = c.segment_id
   ) AS places
   WHERE audit_entries.record = 'child_chunk' AND audit_entries.action <> 'import' AND audit_entries.count = 1
     AND places.dataset_id = audit_entries.dataset_id
     AND places.id = substr(audit_entries.ids, 3, length(audit_entries.ids) - 4)`,
  'CREATE INDEX audit_entries_by_key ON audit_entries (key_id, id)',
  `CREATE INDEX audit_entries_by_action ON audit_entries (action, id) WHERE action <> 'import'`,
  'CREATE INDEX audit_entries_by_dataset ON audit_entries (dataset_id, id) WHERE document_id IS NOT NULL',
  `CREATE INDEX audit_entries_by_document ON audit_entries (dataset_id, document_id, id) WHERE document_id IS NOT NULL`,
];
