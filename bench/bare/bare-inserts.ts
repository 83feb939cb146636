import { DatabaseSync } from 'node:sqlite';
import { conversationId } from '../support/data.ts';

/**
 * The upper bound for imports: a bare loop of prepared inserts in one transaction, into a new file with the same tables
 * and settings as Backscroll's. The rows come from a file that `backscroll import` filled, in the order of the input.
 * Only writing is timed, from BEGIN until the file is closed, not reading the rows. Prints the seconds.
 *
 * node bare-inserts.ts SOURCE TARGET CONVERSATIONS
 */

const [source = '', target = '', conversations = ''] = process.argv.slice(2);

const from = new DatabaseSync(source, { readOnly: true });
const into = new DatabaseSync(target);
into.exec('PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
into.exec('PRAGMA secure_delete = ON; PRAGMA journal_size_limit = 67108864');
const ownSchema = `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND tbl_name IN ('conversations', 'messages')`;
for (const { sql } of from.prepare(ownSchema).all()) into.exec(`${sql}`);

const findConversation = from.prepare('SELECT * FROM conversations WHERE conversation_id = ?');
const findMessages = from.prepare('SELECT * FROM messages WHERE conversation_id = ?');
const insertInto = (table: string, { length }: { length: number }) =>
  into.prepare(`INSERT INTO ${table} VALUES (${Array(length).fill('?').join(', ')})`);
const insertConversation = insertInto('conversations', findConversation.columns());
const insertMessage = insertInto('messages', findMessages.columns());
for (const find of [findConversation, findMessages]) find.setReturnArrays(true);

type Values = (string | number | null)[];
let millis = 0;
function timed(work: () => void): void {
  const started = performance.now();
  work();
  millis += performance.now() - started;
}

timed(() => into.exec('BEGIN IMMEDIATE'));
for (let at = 0; at < Number(conversations); at += 1) {
  const id = conversationId(at);
  const conversation = findConversation.all(id) as unknown as Values[];
  const messages = findMessages.all(id) as unknown as Values[];
  timed(() => {
    for (const row of conversation) insertConversation.run(...row);
    for (const row of messages) insertMessage.run(...row);
  });
}
timed(() => {
  into.exec('COMMIT');
  into.close();
});
from.close();
process.stdout.write(`${millis / 1000}\n`);
