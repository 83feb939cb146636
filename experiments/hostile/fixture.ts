import { randomUUID } from 'node:crypto';
import { makeSecret } from '../../server/src/domain/secret.ts';
import { makeTenant, message, type Tenant } from '../../server/test/support/harness.ts';
import { provider } from '../../server/test/support/isolation-fixture.ts';

export type HostileTenant = Tenant & {
  messages: string[];
  /** Ids of keys that no request uses. */
  otherKeys: string[];
  /** Ids of records that no request has tried to delete yet, by the name of their parameter. */
  deletable: Record<string, string[]>;
  /** The segment of the deletable child chunks: in that of the tenant they would slow down its lists. */
  deletableSegment: string;
};

/**
 * Two workspaces. The stable one is read, and every write to it must be rejected, so its records must not change. The
 * busy one receives all valid writes.
 */
export type HostileFixture = {
  stable: HostileTenant;
  busy: HostileTenant;
  admin: string;
  /** Expired and revoked keys of every kind. */
  invalidKeys: string[];
  records: object[];
};

/** `deletions`: how many records of each kind can be deleted. */
export function makeHostileFixture(deletions: number): HostileFixture {
  const stable = { ...makeHostileTenant(0), deletable: {} };
  const busy = makeHostileTenant(deletions);
  const admin = makeSecret('admin');
  const { workspace, app } = busy.ids;
  const keyRecords = [{ expires_at: 1 }, { revoked_at: 1 }].flatMap((end) => [
    { record: 'api_key', kind: 'app', workspace_id: workspace, app_id: app, name: 'invalid', ...end },
    { record: 'api_key', kind: 'writer', workspace_id: workspace, app_id: app, name: 'invalid', ...end },
    { record: 'api_key', kind: 'knowledge', workspace_id: workspace, name: 'invalid', ...end },
    { record: 'api_key', kind: 'admin', name: 'invalid', ...end },
  ]);
  const invalidKeys = keyRecords.map((key) => ({ ...key, secret: makeSecret(key.kind as 'app') }));
  return {
    stable,
    busy,
    admin,
    invalidKeys: invalidKeys.map(({ secret }) => secret),
    records: [
      ...stable.records,
      ...busy.records,
      ...invalidKeys,
      { record: 'api_key', kind: 'admin', name: 'admin', secret: admin },
    ],
  };
}

function makeHostileTenant(deletions: number): HostileTenant {
  const tenant = makeTenant();
  const { app, conversation, document, workspace } = tenant.ids;
  const messages = Array.from({ length: 60 }, (_, index) => message(conversation, 1000 + (index >> 1)));
  const makeIds = (length: number) => Array.from({ length }, () => randomUUID());
  const otherKeys = makeIds(10);
  const deletable = {
    child_chunk_id: makeIds(deletions),
    conversation_id: makeIds(deletions),
    key_id: makeIds(deletions),
    message_id: makeIds(deletions),
  };
  const deletableSegment = randomUUID();
  const chunk = { record: 'child_chunk', segment_id: deletableSegment, position: 1, content: 'deletable' };
  const key = { record: 'api_key', kind: 'app', workspace_id: workspace, app_id: app, name: 'other' };
  return {
    ...tenant,
    messages: messages.map(({ id }) => id),
    otherKeys,
    deletable,
    deletableSegment,
    records: [
      ...tenant.records,
      ...messages,
      ...deletable.message_id.map((id, index) => message(conversation, 2000 + index, { id })),
      provider(workspace, `provider/${randomUUID()}`),
      { record: 'segment', id: deletableSegment, document_id: document, position: 2, content: 'deletable' },
      ...deletable.child_chunk_id.map((id) => ({ ...chunk, id })),
      ...deletable.conversation_id.map((id) => ({ record: 'conversation', id, app_id: app, user: 'ann' })),
      ...[...otherKeys, ...deletable.key_id].map((id) => ({ ...key, id, secret: makeSecret('app') })),
    ],
  };
}
