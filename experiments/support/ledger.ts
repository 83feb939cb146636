import { createHash, randomUUID } from 'node:crypto';
import { message } from '../../server/test/support/harness.ts';
import { type Chunk, type Installation, numberOf, text } from './installation.ts';

/** Numbered texts of one chunk. `hasSingleWriter`: only one client writes them, one at a time. */
export type Edits = { chunk: Chunk; hasSingleWriter: boolean; sent: number; acknowledged: number[] };
/** Messages that every import replaces as a whole. Each import writes its number into all of them. */
export type ReplacedMessages = { name: string; ids: readonly string[]; sent: number; acknowledged: number[] };
/** Messages that are added once. */
export type Append = { name: string; size: number; acknowledged: boolean };
/** A key that a command printed. `revocation`: the last known state of its revocation. */
export type Key = { id: string; secret: string; revocation: 'none' | 'requested' | 'acknowledged' };

const replacedCount = 600;
/** 600 answers of this length do not fit into the in-memory spool. */
const answerLength = 8_000;

/** Writes that clients sent, and those acknowledged, to compare with the contents of the database. */
export class Ledger {
  readonly edits: Edits[];
  readonly overHttp = newReplaced('over HTTP');
  readonly byCommand = newReplaced('by command');
  readonly appends: Append[] = [];
  readonly keys: Key[] = [];
  /** Responses that are never allowed, whatever happens to the service. */
  readonly unexpected: string[] = [];
  readonly responses = { 200: 0, 503: 0, cut: 0 };

  /** The last chunk has several writers. */
  constructor({ chunks }: Installation) {
    this.edits = chunks.map((chunk, at) => ({
      chunk,
      hasSingleWriter: at < chunks.length - 1,
      sent: 0,
      acknowledged: [],
    }));
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

function newReplaced(name: string): ReplacedMessages {
  const ids = Array.from({ length: replacedCount }, () => randomUUID());
  return { name, ids, sent: 0, acknowledged: [] };
}

/** The records of one import, all with its number. */
export function replacementRecords({ ids }: ReplacedMessages, conversation_id: string, number: number): object[] {
  const answer = 'x'.repeat(answerLength);
  return ids.map((id, at) => message(conversation_id, 10 + at, { id, query: text(number), answer }));
}

/** Acknowledged writes that are missing, and writes that are partial, repeated or out of order. */
export type Discrepancies = { lost: string[]; torn: string[] };

/** Compares an export with the ledger. No client may write at the same time. */
export function compareExport(ledger: Ledger, exported: string): Discrepancies {
  const records = exported
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const discrepancies: Discrepancies = { lost: [], torn: [] };
  for (const edits of ledger.edits) compareEdits(edits, records, discrepancies);
  const messages = records.filter(({ record }) => record === 'message');
  for (const replaced of [ledger.overHttp, ledger.byCommand]) compareReplaced(replaced, messages, discrepancies);
  const counts = new Map<unknown, number>();
  for (const { query } of messages) counts.set(query, (counts.get(query) ?? 0) + 1);
  for (const { name, size, acknowledged } of ledger.appends) {
    const count = counts.get(name) ?? 0;
    if (count !== 0 && count !== size) discrepancies.torn.push(`${name}: ${count} of ${size} messages`);
    if (count === 0 && acknowledged) discrepancies.lost.push(`append ${name}`);
  }
  const keys = new Map(records.filter(({ record }) => record === 'api_key').map((key) => [key.id, key]));
  for (const { id, secret, revocation } of ledger.keys) {
    const key = keys.get(id);
    if (key?.digest !== createHash('sha256').update(secret).digest('hex')) discrepancies.lost.push(`key ${id}`);
    if (revocation === 'acknowledged' && key?.revoked_at === null) discrepancies.lost.push(`revocation of ${id}`);
    if (revocation === 'none' && key !== undefined && key.revoked_at !== null)
      discrepancies.torn.push(`${id} is revoked`);
  }
  return discrepancies;
}

/** Every acknowledged text is the current text or a revision, none occurs twice, and all were sent. */
function compareEdits(
  { chunk, hasSingleWriter, sent, acknowledged }: Edits,
  records: Record<string, unknown>[],
  discrepancies: Discrepancies,
) {
  const current = records.find(({ record, id }) => record === 'child_chunk' && id === chunk.id);
  const revisions = records.filter(
    ({ record, child_chunk_id }) => record === 'child_chunk_revision' && child_chunk_id === chunk.id,
  );
  const numbers = [...revisions, current].map((one) => numberOf(one?.content));
  const stored = new Set(numbers);
  for (const number of acknowledged)
    if (!stored.has(number)) discrepancies.lost.push(`${text(number)} of chunk ${chunk.id}`);
  if (stored.size !== numbers.length) discrepancies.torn.push(`a text of chunk ${chunk.id} is stored twice`);
  if (numbers[0] !== 0 || numbers.some((number) => !(number <= sent)))
    discrepancies.torn.push(`texts of chunk ${chunk.id}`);
  if (revisions.some(({ revision }, at) => revision !== at + 1))
    discrepancies.torn.push(`revisions of chunk ${chunk.id}`);
  const isSorted = numbers.every((number, at) => at === 0 || number > (numbers[at - 1] ?? 0));
  if (hasSingleWriter && !isSorted) discrepancies.torn.push(`the order of texts of chunk ${chunk.id}`);
}

/** All messages have the number of one import: the last acknowledged one, or one sent after it. */
function compareReplaced(
  { name, ids, sent, acknowledged }: ReplacedMessages,
  messages: Record<string, unknown>[],
  discrepancies: Discrepancies,
) {
  const replacedIds = new Set<unknown>(ids);
  const stored = messages.filter(({ id }) => replacedIds.has(id));
  const numbers = new Set(stored.map(({ query }) => numberOf(query)));
  const [number = 0] = numbers;
  if (numbers.size > 1 || (stored.length !== 0 && stored.length !== ids.length)) {
    discrepancies.torn.push(`import ${name}: ${stored.length} messages of ${numbers.size} imports`);
  }
  const last = acknowledged.at(-1) ?? 0;
  if (number < last) discrepancies.lost.push(`import ${last} ${name}: ${number} is stored`);
  if (number > sent) discrepancies.torn.push(`import ${number} ${name}, which was never sent`);
}
