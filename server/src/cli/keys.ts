import type { Config } from '../config.ts';
import type { ListedKey, NewKey } from '../contract/admin.ts';
import {
  findReachProblem,
  type KeyKind,
  keyKinds,
  keyKindTable,
  type ReachProblem,
  readOnlyKinds,
} from '../contract/key-kinds.ts';
import { limits } from '../contract/limits.ts';
import { type Role, roles } from '../contract/people/roles.ts';
import { canonicalId, keysOf } from '../contract/primitives.ts';
import { createKey, updateKey } from '../domain/keys/create-key.ts';
import { type Command, epochSeconds, withStore } from './command.ts';
import { actionOf, flag, parse, print, printRows, secondsOf, text, texts, timeOf, Usage, visible } from './terminal.ts';

const options = { workspace_id: '--workspace', app_id: '--app', dataset_ids: '--dataset' } as const;

export const keysCommand: Command = {
  help: `Usage: backscroll keys create --kind KIND [--app ID] [--workspace ID] [--dataset ID...] [OPTIONS]
       backscroll keys update ID [--read-only | --read-write] [--role ROLE]
       backscroll keys list [--json]
       backscroll keys revoke ID

Kinds of key:
${keyKinds.map(describeKind).join('\n')}

Options of create:
  --name NAME      a name for the key
  --expires TIME   lifetime: a number and s, m, h, d or w, such as 90d (default: no expiry)
  --read-only      the key allows no writes (kinds app, knowledge and admin)
  --role ROLE      what an admin key may do: viewer, editor or admin (default: admin)
  --json           print one JSON object with id and secret

The secret is shown once, when the key is created; only its digest is stored.
The time of last use is stored every ${limits.lastUsedIntervalMillis / 1000} seconds.
A revocation takes effect immediately in a running service, on PostgreSQL within 5 seconds.`,

  run: ([action, ...argv], config) => actions[actionOf('keys', action, keysOf(actions))](argv, config),
};

const actions = { create, update, list, revoke };

/** `--kind knowledge --workspace ID [--dataset ID...]` and, on the next line, what such a key allows. */
function describeKind(kind: KeyKind): string {
  const { requires, accepts, allows } = keyKindTable[kind];
  const required = requires.map((field) => ` ${options[field]} ID`).join('');
  const accepted = accepts.map((field) => `${options[field]} ID${field === 'dataset_ids' ? '...' : ''}`).join(' | ');
  return `  --kind ${kind}${required}${accepted && ` [${accepted}]`}\n      ${allows}`;
}

async function create(argv: string[], config: Config): Promise<number> {
  const { values: given, positionals } = parseCreation(argv);
  const now = epochSeconds();
  // `--dataset A B` names two datasets, as `--dataset A --dataset B` does.
  if (positionals.length > 0 && !given.dataset) throw new Usage(`unexpected argument '${positionals[0]}'`);
  if (given.dataset) given.dataset.push(...positionals);
  const key = newKeyOf(given, now);
  const { id, secret } = await withStore(config, key.kind === 'admin' ? 'create' : 'existing', (store) =>
    createKey(store, key, { key_id: null, now }),
  );
  if (given.json) print(JSON.stringify({ id, secret }));
  else print(`id      ${id}\nkind    ${key.kind}\nsecret  ${secret}\n\nStore the secret now: it is not shown again.`);
  return 0;
}

function parseCreation(argv: string[]) {
  const reach = { app: text, workspace: text, dataset: texts };
  const others = { name: text, expires: text, 'read-only': flag, role: text, json: flag };
  return parse(argv, { kind: text, ...reach, ...others }, { max: Number.POSITIVE_INFINITY });
}

function newKeyOf(given: ReturnType<typeof parseCreation>['values'], now: number): NewKey {
  const kind = keyKinds.find((one) => one === given.kind);
  if (kind === undefined) throw new Usage(`--kind must be one of ${keyKinds.join(', ')}`);
  const { app = null, workspace = null, dataset = null, name = '' } = given;
  const reach = { workspace_id: workspace, app_id: app, dataset_ids: dataset };
  const reachProblem = findReachProblem(kind, reach);
  if (reachProblem !== undefined) throw new Usage(explain(kind, reachProblem));
  const expires_at = given.expires === undefined ? null : now + secondsOf('--expires', given.expires);
  const read_only = given['read-only'] === true;
  if (read_only && !readOnlyKinds.includes(kind)) throw new Usage(`--read-only is not allowed for --kind ${kind}`);
  const role = roleOf(given.role);
  if (role !== undefined && kind !== 'admin') throw new Usage(`--role is not allowed for --kind ${kind}`);
  return { kind, name, expires_at, ...reach, read_only, ...(role && { role }) };
}

function roleOf(given: string | undefined): Role | undefined {
  const role = roles.find((one) => one === given);
  if (given !== undefined && role === undefined) throw new Usage(`--role must be one of ${roles.join(', ')}`);
  return role;
}

function explain(kind: KeyKind, found: ReachProblem): string {
  if (found.problem === 'not both') {
    return `${found.fields.map((field) => options[field]).join(' and ')} are not allowed together for --kind ${kind}`;
  }
  const option = options[found.field];
  return found.problem === 'missing' ? `--kind ${kind} needs ${option}` : `${option} is not allowed for --kind ${kind}`;
}

async function update(argv: string[], config: Config): Promise<number> {
  const { values, positionals } = parse(argv, { 'read-only': flag, 'read-write': flag, role: text }, { max: 1 });
  const [id] = positionals;
  if (id === undefined) throw new Usage('keys update needs the ID of a key, as shown by keys list');
  const read_only = values['read-only'] === true;
  const isFlagged = read_only !== (values['read-write'] === true);
  const role = roleOf(values.role);
  const isBoth = read_only && values['read-write'] === true;
  if (isBoth || (!isFlagged && role === undefined)) {
    throw new Usage('keys update needs --read-only, --read-write or --role');
  }
  const change = { ...(isFlagged && { read_only }), ...(role && { role }) };
  const key = await withStore(config, 'existing', (store) =>
    updateKey(store, id, change, { key_id: null, now: epochSeconds() }),
  );
  print(`${id} is now ${accessOf(key)}`);
  return 0;
}

async function list(argv: string[], config: Config): Promise<number> {
  const { values } = parse(argv, { json: flag }, { max: 0 });
  const keys = await withStore(config, 'existing', (store) => store.listKeys());
  const header = ['id', 'kind', 'name', 'reach', 'access', 'created', 'expires', 'revoked', 'last used'];
  printRows(keys, values.json === true, header, keyRow);
  return 0;
}

const keyRow = (key: ListedKey): string[] => [
  key.id,
  key.kind,
  visible(key.name) || '-',
  reachOf(key),
  accessOf(key),
  timeOf(key.created_at),
  timeOf(key.expires_at),
  timeOf(key.revoked_at),
  timeOf(key.last_used_at),
];

function accessOf({ kind, read_only, role }: ListedKey): string {
  if (!readOnlyKinds.includes(kind)) return '-';
  const access = read_only ? 'read-only' : 'read-write';
  return role === null ? access : `${role}, ${access}`;
}

function reachOf({ app_id, workspace_id, dataset_ids }: ListedKey): string {
  if (dataset_ids !== null) return `datasets ${dataset_ids.join(' ')}`;
  if (app_id !== null) return `app ${app_id}`;
  return workspace_id === null ? 'everything' : `workspace ${workspace_id}`;
}

async function revoke(argv: string[], config: Config): Promise<number> {
  const [id] = parse(argv, {}, { max: 1 }).positionals;
  if (id === undefined) throw new Usage('keys revoke needs the ID of a key, as shown by keys list');
  const revocation = { id: canonicalId(id), by: null, now: epochSeconds() };
  const exists = await withStore(config, 'existing', (store) => store.run('revokeKey', revocation));
  if (!exists) throw new Error(`there is no key ${id}`);
  print(`revoked ${id}`);
  return 0;
}
