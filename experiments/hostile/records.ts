import { randomUUID } from 'node:crypto';
import { type RecordKind, recordKinds } from '../../server/src/contract/record.ts';
import { makeSecret } from '../../server/src/domain/secret.ts';
import { provider } from '../../server/test/support/isolation-fixture.ts';
import type { Random } from '../support/random.ts';
import type { HostileTenant } from './fixture.ts';
import { malformJson, mutateJson } from './odd-values.ts';

type Fields = { record: string; [field: string]: unknown };

/** A new valid record of each kind that belongs to this tenant, with the marker in one of its texts, which nothing replaces. */
const samples: Record<RecordKind, (tenant: HostileTenant, marker: string) => Fields> = {
  workspace: (_, name) => ({ record: 'workspace', id: randomUUID(), name }),
  app: ({ ids }, name) => ({ record: 'app', id: randomUUID(), workspace_id: ids.workspace, name, mode: 'chat' }),
  api_key: ({ ids }, name) => ({
    record: 'api_key',
    kind: 'app',
    workspace_id: ids.workspace,
    app_id: ids.app,
    name,
    secret: makeSecret('app'),
    expires_at: 4_000_000_000,
  }),
  person: (_, name) => ({
    record: 'person',
    issuer: 'https://id.example',
    subject: randomUUID(),
    name,
    email: 'ann@example.com',
    role: 'viewer',
  }),
  conversation: ({ ids }, user) => ({ record: 'conversation', id: randomUUID(), app_id: ids.app, user, created_at: 5 }),
  message: ({ ids }, query) => ({
    record: 'message',
    id: randomUUID(),
    conversation_id: ids.conversation,
    query,
    answer: 'a',
    created_at: 1000,
    inputs: { a: 1 },
    message_files: [],
    feedback: { rating: 'like' },
    message_tokens: 3,
    total_price: '0.0010',
    currency: 'USD',
  }),
  review: ({ ids }, note) => ({
    record: 'review',
    app_id: ids.app,
    conversation_id: ids.conversation,
    labels: ['price'],
    note,
  }),
  dataset: ({ ids }, name) => ({ record: 'dataset', id: randomUUID(), workspace_id: ids.workspace, name }),
  document: ({ ids }, name) => ({ record: 'document', id: randomUUID(), dataset_id: ids.dataset, name }),
  segment: ({ ids }, content) => ({
    record: 'segment',
    id: randomUUID(),
    document_id: ids.document,
    position: 2,
    content,
  }),
  child_chunk: ({ ids }, content) => ({
    record: 'child_chunk',
    id: randomUUID(),
    segment_id: ids.segment,
    position: 2,
    content,
    created_at: 7,
  }),
  child_chunk_revision: ({ ids }, content) => ({
    record: 'child_chunk_revision',
    child_chunk_id: ids.chunk,
    // Far above the revision numbers that edits create, and practically unique.
    revision: 100_000_000 + (Number.parseInt(randomUUID().slice(0, 8), 16) >>> 3),
    content,
    replaced_at: 5,
    key_id: null,
  }),
  model_provider: ({ ids }, name) => provider(ids.workspace, name),
};

/** A review comes with a message of its own, since another review of its message would replace it. */
export function sampleRecords(
  random: Random,
  kinds: readonly RecordKind[],
  tenant: HostileTenant,
  marker: string,
): Fields[] {
  const kind = random.pick(kinds);
  const record = samples[kind](tenant, marker);
  if (kind !== 'review') return [record];
  const message = samples.message(tenant, marker);
  return [message, { ...record, message_id: message.id }];
}

export const adminKinds = recordKinds;
export const writerKinds: readonly RecordKind[] = ['conversation', 'message'];

/** Lines of records, one of which is invalid or unusual. */
export function mutateRecords(random: Random, lines: readonly Fields[]): Buffer {
  const texts: (string | Buffer)[] = lines.map((line) => JSON.stringify(line));
  const at = random.below(lines.length);
  const line = lines[at] as Fields;
  texts[at] = random.weighted<() => string | Buffer>([
    [8, () => mutateJson(random, line)],
    [2, () => malformJson(random, JSON.stringify(line))],
    [1, () => JSON.stringify({ ...line, record: random.pick([...recordKinds, 'Message', '', 'toString']) })],
    [1, () => `${JSON.stringify(line)} ${JSON.stringify(line)}`],
    [1, () => `\ufeff${JSON.stringify(line)}`],
    [1, () => JSON.stringify([line])],
  ])();
  const newline = random.pick(['\n', '\n', '\n', '\r\n', '\n\n', '\r', '\u2028']);
  const parts = texts.flatMap((text) => [Buffer.from(text), Buffer.from(newline)]);
  return Buffer.concat(random.chance(0.2) ? parts.slice(0, -1) : parts);
}
