import { randomBytes, randomUUID } from 'node:crypto';
import { newEntryId, writeEntries } from '../../server/src/store/accounting/audit.ts';
import { replaceChunk } from '../../server/src/store/knowledge/chunk-writes.ts';
import { Connection } from '../../server/src/store/sqlite/connection.ts';
import { chunkId, conversationId, dataset_id, document_id, editText } from '../support/data.ts';
import { chunks } from '../support/databases.ts';
import { serveHelper } from '../support/servers.ts';
import { writtenShape } from '../support/write-load.ts';

/** The limit of writes: their statements in a loop, committed in groups with full sync. `bare-commits.ts DATABASE edit|append` */

const [path = '', kind = ''] = process.argv.slice(2);
const { db } = new Connection(path, 1_000);
const insertAuditEntry = db.prepare(writeEntries.one);
const key_id = 'a-key-of-the-bench';
const random = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)] as T;
let count = 0;

/** The next revision, the new text, the audit entry. */
function edits(): (now: number) => void {
  const insertRevision = db.prepare(`
    INSERT INTO child_chunk_revisions (dataset_id, child_chunk_id, revision, content, replaced_at, key_id)
    SELECT c.dataset_id, c.id, 1 + COALESCE((
        SELECT MAX(r.revision) FROM child_chunk_revisions r WHERE r.dataset_id = c.dataset_id AND r.child_chunk_id = c.id
      ), 0), c.content, CAST(? AS BIGINT), CAST(? AS TEXT)
    FROM child_chunks c WHERE c.dataset_id = ? AND c.id = ?`);
  const updateChunk = db.prepare(replaceChunk.replace(' AND version = ?', ''));
  const ids = Array.from({ length: chunks }, (_, at) => chunkId(at));
  const wordCount = 64;
  return (now) => {
    const id = random(ids);
    insertRevision.run(now, key_id, dataset_id, id);
    updateChunk.run(editText((count += 1)), wordCount, now, newVersion(), dataset_id, id);
    const entry = [newEntryId(), dataset_id, now, key_id, 'update', 'child_chunk', 1, `["${id}"]`, document_id];
    insertAuditEntry.run(...entry, null, null, null);
  };
}

/** The message, its conversation, the usage of the day, the audit entry. */
function appends(): (now: number) => void {
  const [{ doc }, day] = [
    db.prepare('SELECT doc FROM messages ORDER BY length(doc) LIMIT 1').get() as { doc: string },
    db.prepare('SELECT * FROM conversation_days LIMIT 1').get() as { day: number },
  ];
  const insertMessage = db.prepare(`
    INSERT INTO messages (conversation_id, created_at, sequence, id, doc)
    SELECT conversation_id, ?, next_sequence, ?, ? FROM conversations WHERE conversation_id = ?`);
  const updateConversation = db.prepare(`
    UPDATE conversations SET next_sequence = next_sequence + 1, version = ?, last_message_at = ?, updated_at = ?
    WHERE conversation_id = ?`);
  const updateDay = db.prepare(
    'UPDATE conversation_days SET messages = messages + 1 WHERE conversation_id = ? AND day = ?',
  );
  const ids = Array.from({ length: writtenShape.conversations }, (_, at) => conversationId(at));
  return (now) => {
    const [id, conversation_id] = [randomUUID(), random(ids)];
    insertMessage.run(now, id, doc.replace(/(?<="id":")[^"]+/, id), conversation_id);
    updateConversation.run(newVersion(), now, now, conversation_id);
    updateDay.run(conversation_id, day.day);
    const ids_ = JSON.stringify([`${conversation_id}/${id}`]);
    insertAuditEntry.run(
      newEntryId(),
      conversation_id,
      now,
      key_id,
      'import',
      'message',
      1,
      ids_,
      null,
      null,
      null,
      null,
    );
  };
}

const newVersion = (): string => randomBytes(16).toString('hex');
const write = kind === 'append' ? appends() : edits();

function commit(group: number): void {
  const now = Math.floor(Date.now() / 1000);
  db.exec('BEGIN IMMEDIATE');
  for (let at = 0; at < group; at += 1) write(now);
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
