import { randomUUID } from 'node:crypto';
import { makeSecret } from '../../server/src/domain/secret.ts';
import { type ChunkIds, chunkPath, makeTenant, message } from '../../server/test/support/harness.ts';

/**
 * Requests in three arms: for objects that the caller cannot access, and twice for missing objects. The second missing
 * arm is the control: a difference between the two missing arms is noise.
 */
export type Probe = {
  name: string;
  request: Record<Arm, (index: number) => Request>;
  /** `different`: the caller may know the difference, and the probe shows that a real difference is detected. */
  expected: 'same' | 'different' | 'any';
};
export type Arm = 'inaccessible' | 'missing' | 'control';
export const arms = ['inaccessible', 'missing', 'control'] as const;
export type Request = { method: string; path: string; key: string };

/** The number of objects in each arm. They vary because the service may cache repeated requests. */
const poolSize = 300;
const pool = <T>(make: () => T): ((index: number) => T) => {
  const all = Array.from({ length: poolSize }, make);
  return (index) => all[index % poolSize] as T;
};

export function makeTimingFixture(): { records: object[]; probes: Probe[] } {
  const own = makeTenant();
  const other = makeTenant();
  const records: object[] = [...own.records, ...other.records, message(own.ids.conversation, 1)];
  const add = <T>(object: { records: object[]; value: T }): T => {
    records.push(...object.records);
    return object.value;
  };
  const conversations = pool(() => add(makeConversation(other.ids.app)));
  const chunks = pool(() => add(makeChunk(other.ids.workspace)));
  const keys = {
    revoked: pool(() => add(makeKey('app', own.ids, { revoked_at: 1 }))),
    expired: pool(() => add(makeKey('app', own.ids, { expires_at: 1 }))),
  };
  const writers = pool(() => add(makeKey('writer', own.ids, {})));

  const page = (conversation_id: string, more = '') => `/v1/messages?conversation_id=${conversation_id}${more}`;
  const get = (path: string, key: string): Request => ({ method: 'GET', path, key });
  const probe = <T>(
    name: string,
    inaccessible: (index: number) => T,
    makeMissing: () => T,
    request: (id: T) => Request,
  ): Probe => {
    const [missing, control] = [pool(makeMissing), pool(makeMissing)];
    return {
      name,
      expected: 'same',
      request: {
        inaccessible: (index) => request(inaccessible(index)),
        missing: (index) => request(missing(index)),
        control: (index) => request(control(index)),
      },
    };
  };
  const newSecret = () => makeSecret('app');
  const withKey = (secret: string) => get(page(own.ids.conversation), secret);
  const parts: (keyof ChunkIds)[] = ['dataset', 'document', 'segment', 'chunk'];
  return {
    records,
    probes: [
      probe(
        'GET messages, conversation',
        (index) => conversations(index).id,
        randomUUID,
        (id) => get(page(id), own.keys.app),
      ),
      probe(
        'GET messages, first_id',
        (index) => conversations(index).first,
        randomUUID,
        (id) => get(page(own.ids.conversation, `&first_id=${id}`), own.keys.app),
      ),
      ...['GET', 'PATCH'].flatMap((method) => [
        ...parts.map((part) =>
          probe(
            `${method} child chunk, ${part}`,
            (index) => chunks(index)[part],
            randomUUID,
            (id) => ({
              method,
              path: chunkPath({ ...own.ids, [part]: id }),
              key: own.keys.knowledge,
            }),
          ),
        ),
        probe(
          `${method} child chunk, whole path`,
          chunks,
          () => makeChunk('').value,
          (ids) => ({
            method,
            path: chunkPath(ids),
            key: own.keys.knowledge,
          }),
        ),
      ]),
      ownMissing(own),
      ...Object.entries(keys).map(([name, key]) => probe(`key ${name}`, key, newSecret, withKey)),
      // Anyone who has a key can use it where it is accepted, so its existence is no secret.
      { ...probe('key of the wrong kind', writers, newSecret, withKey), expected: 'any' },
    ],
  };
}

/** Both objects are missing. The chunk is deeper in the caller's own data, so its lookup takes longer, and the responses differ. */
function ownMissing({ ids, keys }: ReturnType<typeof makeTenant>): Probe {
  const request = (part: 'chunk' | 'dataset') => () => ({
    method: 'GET',
    path: chunkPath({ ...ids, [part]: randomUUID() }),
    key: keys.knowledge,
  });
  const name = 'child chunk against dataset, both missing';
  return {
    name,
    expected: 'different',
    request: { inaccessible: request('chunk'), missing: request('dataset'), control: request('dataset') },
  };
}

function makeConversation(app_id: string) {
  const id = randomUUID();
  const first = message(id, 1);
  const conversation = { record: 'conversation', id, app_id, user: 'ann' };
  return { records: [conversation, first, message(id, 2)], value: { id, first: first.id } };
}

function makeChunk(workspace_id: string) {
  const value = { dataset: randomUUID(), document: randomUUID(), segment: randomUUID(), chunk: randomUUID() };
  const { dataset, document, segment, chunk } = value;
  const records = [
    { record: 'dataset', id: dataset, workspace_id, name: 'd' },
    { record: 'document', id: document, dataset_id: dataset, name: 'd' },
    { record: 'segment', id: segment, document_id: document, position: 1, content: 's' },
    { record: 'child_chunk', id: chunk, segment_id: segment, position: 1, content: 'c' },
  ];
  return { records, value };
}

function makeKey(kind: 'app' | 'writer', ids: { workspace: string; app: string }, end: object) {
  const value = makeSecret(kind);
  const scope = { workspace_id: ids.workspace, app_id: ids.app };
  return { records: [{ record: 'api_key', kind, ...scope, name: 'k', secret: value, ...end }], value };
}
