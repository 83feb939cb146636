import { createHash, randomUUID } from 'node:crypto';
import { message } from '../../test/support/harness.ts';
import { type Chunk, type Installation, numberOf, text } from './installation.ts';

/** Numbered texts of one chunk. `alone`: one client writes them, one after the other. */
export type Edits = { chunk: Chunk; alone: boolean; sent: number; acknowledged: number[] };
/** Messages that one import after another replaces, all of them, each import with its number. */
export type Replaced = { name: string; ids: readonly string[]; sent: number; acknowledged: number[] };
/** Messages that are added once. */
export type Append = { name: string; size: number; acknowledged: boolean };
/** A key that was shown. `revocation`: what is known of the command that revokes it. */
export type Key = { id: string; secret: string; revocation: 'none' | 'asked' | 'acknowledged' };

const replacedMessages = 600;
/** 600 of them are more than is spooled in memory. */
const answerUnits = 8_000;

/** What clients sent and what they were told, to be held against what the database then holds. */
export class Ledger {
  readonly edits: Edits[];
  readonly overHttp = newReplaced('over HTTP');
  readonly byCommand = newReplaced('by command');
  readonly appends: Append[] = [];
  readonly keys: Key[] = [];
  /** Answers that nobody may get, whatever happens to the service. */
  readonly wrong: string[] = [];
  readonly answers = { 200: 0, 503: 0, cut: 0 };

  /** The last chunk has several writers. */
  constructor({ chunks }: Installation) {
    this.edits = chunks.map((chunk, at) => ({ chunk, alone: at < chunks.length - 1, sent: 0, acknowledged: [] }));
  }

  acknowledged(): { edits: number; appends: number; imports: number; keys: number; revocations: number } {
    return {
      edits: this.edits.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0),
      appends: this.appends.filter(({ acknowledged }) => acknowledged).length,
      imports: this.overHttp.acknowledged.length + this.byCommand.acknowledged.length,
      keys: this.keys.length,
      revocations: this.keys.filter(({ revocation }) => revocation === 'acknowledged').length,
    };
  }
}

function newReplaced(name: string): Replaced {
  const ids = Array.from({ length: replacedMessages }, () => randomUUID());
  return { name, ids, sent: 0, acknowledged: [] };
}

/** The messages of an import, all with its number. */
export function replacing({ ids }: Replaced, conversation_id: string, number: number): object[] {
  const response = 'x'.repeat(answerUnits);
  return ids.map((id, at) => message(conversation_id, 10 + at, { id, query: text(number), answer: response }));
}

export type Audit = { lost: string[]; torn: string[] };

/** Holds an export against the ledger, while nobody writes. */
export function audit(ledger: Ledger, exported: string): Audit {
  const records = exported
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const found: Audit = { lost: [], torn: [] };
  for (const edits of ledger.edits) auditEdits(edits, records, found);
  const messages = records.filter(({ record }) => record === 'message');
  for (const replaced of [ledger.overHttp, ledger.byCommand]) auditReplaced(replaced, messages, found);
  const counts = new Map<unknown, number>();
  for (const { query } of messages) counts.set(query, (counts.get(query) ?? 0) + 1);
  for (const { name, size, acknowledged } of ledger.appends) {
    const count = counts.get(name) ?? 0;
    if (count !== 0 && count !== size) found.torn.push(`${name}: ${count} of ${size} messages`);
    if (count === 0 && acknowledged) found.lost.push(`append ${name}`);
  }
  const keys = new Map(records.filter(({ record }) => record === 'api_key').map((key) => [key.id, key]));
  for (const { id, secret, revocation } of ledger.keys) {
    const key = keys.get(id);
    if (key?.digest !== createHash('sha256').update(secret).digest('hex')) found.lost.push(`key ${id}`);
    if (revocation === 'acknowledged' && key?.revoked_at === null) found.lost.push(`revocation of ${id}`);
    if (revocation === 'none' && key !== undefined && key.revoked_at !== null) found.torn.push(`${id} is revoked`);
  }
  return found;
}

/** Every acknowledged text stands or is a revision, none is there twice, and none that was not sent. */
function auditEdits({ chunk, alone, sent, acknowledged }: Edits, records: Record<string, unknown>[], found: Audit) {
  const standing = records.find(({ record, id }) => record === 'child_chunk' && id === chunk.id);
  const kept = records.filter(
    ({ record, child_chunk_id }) => record === 'child_chunk_revision' && child_chunk_id === chunk.id,
  );
  const numbers = [...kept, standing].map((one) => numberOf(one?.content));
  const there = new Set(numbers);
  for (const number of acknowledged) if (!there.has(number)) found.lost.push(`${text(number)} of chunk ${chunk.id}`);
  if (there.size !== numbers.length) found.torn.push(`a text of chunk ${chunk.id} is there twice`);
  if (numbers[0] !== 0 || numbers.some((number) => !(number <= sent))) found.torn.push(`texts of chunk ${chunk.id}`);
  if (kept.some(({ revision }, at) => revision !== at + 1)) found.torn.push(`revisions of chunk ${chunk.id}`);
  const isSorted = numbers.every((number, at) => at === 0 || number > (numbers[at - 1] ?? 0));
  if (alone && !isSorted) found.torn.push(`the order of texts of chunk ${chunk.id}`);
}

/** All messages have the number of one import: the last acknowledged, or one that was sent after it. */
function auditReplaced({ name, ids, sent, acknowledged }: Replaced, messages: Record<string, unknown>[], found: Audit) {
  const wanted = new Set<unknown>(ids);
  const there = messages.filter(({ id }) => wanted.has(id));
  const numbers = new Set(there.map(({ query }) => numberOf(query)));
  const [number = 0] = numbers;
  if (numbers.size > 1 || (there.length !== 0 && there.length !== ids.length)) {
    found.torn.push(`import ${name}: ${there.length} messages of ${numbers.size} imports`);
  }
  const last = acknowledged.at(-1) ?? 0;
  if (number < last) found.lost.push(`import ${last} ${name}: ${number} stands`);
  if (number > sent) found.torn.push(`import ${number} ${name}, which nobody sent`);
}
