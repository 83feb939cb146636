/** The fields that limit what a key has access to. */
const reachFields = ['workspace_id', 'app_id', 'dataset_ids'] as const;
type ReachField = (typeof reachFields)[number];

/**
 * The kinds of key. `requires` and `accepts` list the fields of a new key of the kind; it has at most one of those that it
 * accepts. A key that requires an app belongs to the app's workspace, so a new key does not name the workspace. The CLI, the
 * HTTP API, records, the OpenAPI document and the console use this table.
 */
export const keyKindTable = {
  app: {
    prefix: 'app-',
    requires: ['app_id'],
    accepts: [],
    allows:
      'reads the conversations and messages of one app, renames, deletes and rates them, and lists the models of its workspace',
  },
  knowledge: {
    prefix: 'dataset-',
    requires: ['workspace_id'],
    accepts: ['dataset_ids'],
    allows:
      'lists the knowledge bases of one workspace, or some of them, creates, edits and deletes their child chunks, and lists models',
  },
  writer: {
    prefix: 'writer-',
    requires: ['app_id'],
    accepts: [],
    allows:
      'writes conversations and messages of one app, and erases single messages of it; with OpenAI clients it also reads them',
  },
  feed: {
    prefix: 'feed-',
    requires: ['workspace_id'],
    accepts: ['app_id', 'dataset_ids'],
    allows: 'follows the changes of one workspace, or of one app or some datasets of it',
  },
  admin: {
    prefix: 'admin-',
    requires: [],
    accepts: [],
    allows: 'what its role allows: by default all records and keys, metrics, and sign-in to the console',
  },
} as const satisfies Record<string, KeyKindRules>;

type KeyKindRules = {
  prefix: string;
  requires: readonly ReachField[];
  accepts: readonly ReachField[];
  allows: string;
};

export type KeyKind = keyof typeof keyKindTable;
export const keyKinds = Object.keys(keyKindTable) as KeyKind[];
/** Kinds that allow reads and writes. A key of such a kind can be read-only. */
export const readOnlyKinds: readonly KeyKind[] = ['app', 'knowledge', 'admin'];
const rulesOf = (kind: KeyKind): KeyKindRules => keyKindTable[kind];

/** The fields that a stored key of a kind must have, including the workspace of its app. */
export function storedReachFields(kind: KeyKind): readonly ReachField[] {
  const { requires } = rulesOf(kind);
  return requires.includes('app_id') ? ['workspace_id', 'app_id'] : requires;
}

export type Reach = { workspace_id: string | null; app_id: string | null; dataset_ids: readonly string[] | null };
export type ReachProblem =
  | { problem: 'missing' | 'not allowed'; field: ReachField }
  | { problem: 'not both'; fields: readonly ReachField[] };

/**
 * The first field that is not allowed, or else the first that is missing, or else fields that exclude each other. `required`
 * differs for new and stored keys.
 */
export function findReachProblem(
  kind: KeyKind,
  reach: Reach,
  required: readonly ReachField[] = rulesOf(kind).requires,
): ReachProblem | undefined {
  const { accepts } = rulesOf(kind);
  const allowed = [...required, ...accepts];
  const unwanted = reachFields.find((field) => reach[field] !== null && !allowed.includes(field));
  if (unwanted !== undefined) return { field: unwanted, problem: 'not allowed' };
  const missing = required.find((field) => !reach[field]);
  if (missing !== undefined) return { field: missing, problem: 'missing' };
  const accepted = accepts.filter((field) => reach[field] !== null);
  return accepted.length > 1 ? { problem: 'not both', fields: accepted } : undefined;
}

export function describeReachProblem(kind: KeyKind, found: ReachProblem): string {
  if (found.problem === 'not both') return `${found.fields.join(' and ')} are not allowed together for kind ${kind}`;
  return found.problem === 'missing'
    ? `${found.field} is required for kind ${kind}`
    : `${found.field} is not allowed for kind ${kind}`;
}

/** The table as JSON Schema: what a new key of each kind has. */
export const reachSchemas = keyKinds.map((kind) => {
  const { requires, accepts } = rulesOf(kind);
  const others = reachFields.filter((field) => !requires.includes(field) && !accepts.includes(field));
  const fields = Object.fromEntries([
    ...requires.map((field) => [field, { type: 'string', minLength: 1 }]),
    ...others.map((field) => [field, { type: 'null' }]),
  ]);
  const oneIsNull = accepts.map((field) => ({ properties: { [field]: { type: 'null' } } }));
  const notBoth = accepts.length > 1 ? { anyOf: oneIsNull } : {};
  return { required: requires, properties: { kind: { const: kind }, ...fields }, ...notBoth };
});

/** The kinds whose new keys may have a field, for descriptions: `app or writer`. */
export function kindsWith(field: ReachField): string {
  return keyKinds.filter((kind) => [...rulesOf(kind).requires, ...rulesOf(kind).accepts].includes(field)).join(' or ');
}
