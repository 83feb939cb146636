import type { Config } from '../config.ts';
import type { ListedKey } from '../contract/admin.ts';
import { limits } from '../contract/limits.ts';
import { canonicalId } from '../contract/primitives.ts';
import { type KeyKind, keyKinds } from '../contract/record.ts';
import { createKey, type KeyWanted } from '../domain/create-key.ts';
import {
  type Command,
  epochSeconds,
  parse,
  print,
  printTable,
  secondsOf,
  timeOf,
  Usage,
  visible,
  withStore,
} from './command.ts';

export const keysCommand: Command = {
  help: `Usage: backscroll keys create --kind KIND [--app ID] [--workspace ID] [--dataset ID...] [OPTIONS]
       backscroll keys list [--json]
       backscroll keys revoke ID

Kinds of key:
  app        --app ID                            reads the messages of one app, lists models
  knowledge  --workspace ID [--dataset ID...]    edits child chunks of a workspace, or of some datasets; lists models
  writer     --app ID                            writes conversations and messages of one app
  admin                                          records, keys, metrics: the whole installation

Options of create:
  --name NAME      a name to know it by
  --expires TIME   how long it lives: a number and s, m, h, d or w, such as 90d
  --json           print one JSON object with id and secret

The secret is shown once, when the key is made; only its digest is kept.
When a key was last used is noted every ${limits.keyUseMillis / 1000} seconds.
A revocation takes effect at once in a running service, on PostgreSQL within 5 seconds.`,

  run: async ([action, ...argv], config) => {
    switch (action) {
      case 'create':
        return create(argv, config);
      case 'list':
        return list(argv, config);
      case 'revoke':
        return revoke(argv, config);
      default:
        throw new Usage(
          action === undefined ? 'keys needs create, list or revoke' : `unknown command 'keys ${action}'`,
        );
    }
  },
};

async function create(argv: string[], config: Config): Promise<number> {
  const { values, positionals } = parse(
    argv,
    {
      kind: { type: 'string' },
      app: { type: 'string' },
      workspace: { type: 'string' },
      dataset: { type: 'string', multiple: true },
      name: { type: 'string' },
      expires: { type: 'string' },
      json: { type: 'boolean' },
    },
    { max: Number.POSITIVE_INFINITY },
  );
  const now = epochSeconds();
  const given = values as Given;
  // `--dataset A B` names two, as `--dataset A --dataset B` does.
  if (positionals.length > 0 && !given.dataset) throw new Usage(`unexpected argument '${positionals[0]}'`);
  if (given.dataset) given.dataset.push(...positionals);
  const wanted = wantedOf(given, now);
  const { id, secret } = await withStore(config, wanted.kind === 'admin' ? 'create' : 'existing', (store) =>
    createKey(store, wanted, null, now),
  );
  if (values.json) print(JSON.stringify({ id, secret }));
  else print(`id      ${id}\nkind    ${wanted.kind}\nsecret  ${secret}\n\nKeep the secret now: it is not shown again.`);
  return 0;
}

type Given = { kind?: string; app?: string; workspace?: string; dataset?: string[]; name?: string; expires?: string };

/** Which options go with which kind. */
const optionsOf: Record<KeyKind, { needs: (keyof Given)[]; takes: (keyof Given)[] }> = {
  app: { needs: ['app'], takes: [] },
  writer: { needs: ['app'], takes: [] },
  knowledge: { needs: ['workspace'], takes: ['dataset'] },
  admin: { needs: [], takes: [] },
};

function wantedOf(given: Given, now: number): KeyWanted {
  const kind = keyKinds.find((one) => one === given.kind);
  if (kind === undefined) throw new Usage(`--kind must be one of ${keyKinds.join(', ')}`);
  const { needs, takes } = optionsOf[kind];
  for (const option of ['app', 'workspace', 'dataset'] as const) {
    if (needs.includes(option) && !given[option]) throw new Usage(`--kind ${kind} needs --${option}`);
    if (given[option] !== undefined && !needs.includes(option) && !takes.includes(option)) {
      throw new Usage(`--${option} does not go with --kind ${kind}`);
    }
  }
  const common = {
    name: given.name ?? '',
    expires_at: given.expires === undefined ? null : now + secondsOf('--expires', given.expires),
  };
  if (kind === 'admin') return { ...common, kind };
  if (kind === 'knowledge') {
    return { ...common, kind, workspace_id: given.workspace ?? '', dataset_ids: given.dataset ?? null };
  }
  return { ...common, kind, app_id: given.app ?? '' };
}

async function list(argv: string[], config: Config): Promise<number> {
  const { values } = parse(argv, { json: { type: 'boolean' } }, { max: 0 });
  const keys = await withStore(config, 'existing', (store) => store.listKeys());
  if (values.json) for (const key of keys) print(JSON.stringify(key));
  else printTable([['id', 'kind', 'name', 'reach', 'created', 'expires', 'revoked', 'last used'], ...keys.map(rowOf)]);
  return 0;
}

const rowOf = (key: ListedKey): string[] => [
  key.id,
  key.kind,
  visible(key.name) || '-',
  reachOf(key),
  timeOf(key.created_at),
  timeOf(key.expires_at),
  timeOf(key.revoked_at),
  timeOf(key.last_used_at),
];

function reachOf({ kind, app_id, workspace_id, dataset_ids }: ListedKey): string {
  if (kind === 'admin') return 'everything';
  if (kind !== 'knowledge') return `app ${app_id}`;
  return dataset_ids === null ? `workspace ${workspace_id}` : `datasets ${dataset_ids.join(' ')}`;
}

async function revoke(argv: string[], config: Config): Promise<number> {
  const [id] = parse(argv, {}, { max: 1 }).positionals;
  if (id === undefined) throw new Usage('keys revoke needs the ID of a key, as shown by keys list');
  const known = await withStore(config, 'existing', (store) => store.revokeKey(canonicalId(id), null, epochSeconds()));
  if (!known) throw new Error(`there is no key ${id}`);
  print(`revoked ${id}`);
  return 0;
}
