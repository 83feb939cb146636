import { randomUUID } from 'node:crypto';
import { makeSecret } from '../../src/domain/secret.ts';
import { type ChunkIds, chunkPath, makeTenant, message } from '../../test/support/harness.ts';

/**
 * Questions in three arms, many of each: about what belongs to somebody else, and twice about what exists nowhere. The
 * second of those is the control: what differs between the two is noise.
 */
export type Probe = {
  name: string;
  ask: Record<Arm, (index: number) => Request>;
  /** `different`: the caller may know, and it shows that a difference would be seen. */
  expected: 'alike' | 'different' | 'either';
};
export type Arm = 'foreign' | 'nowhere' | 'control';
export const arms = ['foreign', 'nowhere', 'control'] as const;
export type Request = { method: string; path: string; key: string };

/** As many of each, since what is asked again may be remembered. */
const poolSize = 300;
const pool = <T>(make: () => T): ((index: number) => T) => {
  const all = Array.from({ length: poolSize }, make);
  return (index) => all[index % poolSize] as T;
};

export function makeTimingWorld(): { records: object[]; probes: Probe[] } {
  const own = makeTenant();
  const other = makeTenant();
  const records: object[] = [...own.records, ...other.records, message(own.ids.conversation, 1)];
  const keep = <T>(made: { records: object[]; value: T }): T => {
    records.push(...made.records);
    return made.value;
  };
  const conversations = pool(() => keep(makeConversation(other.ids.app)));
  const chunks = pool(() => keep(makeChunk(other.ids.workspace)));
  const keys = {
    revoked: pool(() => keep(makeKey('app', own.ids, { revoked_at: 1 }))),
    expired: pool(() => keep(makeKey('app', own.ids, { expires_at: 1 }))),
  };
  const writers = pool(() => keep(makeKey('writer', own.ids, {})));

  const page = (conversation_id: string, more = '') => `/v1/messages?conversation_id=${conversation_id}${more}`;
  const get = (path: string, key: string): Request => ({ method: 'GET', path, key });
  const probe = <T>(name: string, foreign: (index: number) => T, nowhere: () => T, ask: (id: T) => Request): Probe => {
    const [missing, control] = [pool(nowhere), pool(nowhere)];
    return {
      name,
      expected: 'alike',
      ask: {
        foreign: (index) => ask(foreign(index)),
        nowhere: (index) => ask(missing(index)),
        control: (index) => ask(control(index)),
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
      // Whoever holds a key can see that it is one where it opens something.
      { ...probe('key of the wrong kind', writers, newSecret, withKey), expected: 'either' },
    ],
  };
}

/** Both are missing, the one deep in one's own data: finding that out takes longer, and the answers say which it was. */
function ownMissing({ ids, keys }: ReturnType<typeof makeTenant>): Probe {
  const ask = (part: 'chunk' | 'dataset') => () => ({
    method: 'GET',
    path: chunkPath({ ...ids, [part]: randomUUID() }),
    key: keys.knowledge,
  });
  const name = 'child chunk against dataset, both missing';
  return {
    name,
    expected: 'different',
    ask: { foreign: ask('chunk'), nowhere: ask('dataset'), control: ask('dataset') },
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
  const reach = { workspace_id: ids.workspace, app_id: ids.app };
  return { records: [{ record: 'api_key', kind, ...reach, name: 'k', secret: value, ...end }], value };
}
