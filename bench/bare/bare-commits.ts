import { randomBytes } from 'node:crypto';
import { writeEntries } from '../../server/src/store/accounting/audit.ts';
import { newEntryId } from '../../server/src/store/accounting/entry-id.ts';
import { replaceChunk } from '../../server/src/store/knowledge/chunk-writes.ts';
import { Connection } from '../../server/src/store/sqlite/connection.ts';
import { chunkId, dataset_id, document_id, editText } from '../support/data.ts';
import { chunks } from '../support/embedded.ts';
import { serveHelper } from '../support/servers.ts';

/** The upper bound for edits: the statements of an edit in a loop, committed in groups with full sync. */

const [path = ''] = process.argv.slice(2);
const { db } = new Connection(path, 1_000);
/** Stores the current text as the next revision. Parameters: replaced_at, key_id, dataset_id, id. */
const insertRevision = db.prepare(`
  INSERT INTO child_chunk_revisions (dataset_id, child_chunk_id, revision, content, replaced_at, key_id)
  SELECT c.dataset_id, c.id, 1 + COALESCE((
      SELECT MAX(r.revision) FROM child_chunk_revisions r WHERE r.dataset_id = c.dataset_id AND r.child_chunk_id = c.id
    ), 0), c.content, CAST(? AS BIGINT), CAST(? AS TEXT)
  FROM child_chunks c WHERE c.dataset_id = ? AND c.id = ?`);
const updateChunk = db.prepare(replaceChunk.replace(' AND version = ?', ''));
const insertAuditEntry = db.prepare(writeEntries.one);
const ids = Array.from({ length: chunks }, (_, at) => chunkId(at));
const key_id = 'a-key-of-the-bench';
const wordCount = 64;
let edits = 0;

function commit(group: number): void {
  const now = Math.floor(Date.now() / 1000);
  db.exec('BEGIN IMMEDIATE');
  for (let at = 0; at < group; at += 1) {
    const id = ids[Math.floor(Math.random() * chunks)] ?? '';
    insertRevision.run(now, key_id, dataset_id, id);
    updateChunk.run(editText((edits += 1)), wordCount, now, randomBytes(16).toString('hex'), dataset_id, id);
    insertAuditEntry.run(newEntryId(), dataset_id, now, key_id, 'update', 'child_chunk', 1, `["${id}"]`, document_id);
  }
  db.exec('COMMIT');
}

serveHelper(({ group, seconds }: { group: number; seconds: number }) => {
  const start = performance.now();
  let done = 0;
  while (performance.now() < start + seconds * 1000) {
    commit(group);
    done += group;
  }
  return { perSecond: done / ((performance.now() - start) / 1000) };
});
