import { randomUUID } from 'node:crypto';
import { type KeyKind, keyKinds, storedReachFields } from '../contract/key-kinds.ts';
import { commandLine } from '../domain/import/check-references.ts';
import { importRecords } from '../domain/import/import-records.ts';
import { makeSecret } from '../domain/secret.ts';
import type { Store } from '../domain/store/store.ts';
import { readStarterRecords } from '../http/pages/starter-records.ts';
import { epochSeconds } from './command.ts';

/** Ids in the starter records, for the commands that are printed. */
const ids = {
  workspace: 'f2ea4643-6eeb-4dc8-8414-6734b1461808',
  app: '3ccf2629-6bc4-4b26-9774-7084d2d1a2c9',
  conversation: 'abde975c-1f8d-4221-9ba1-35bb1bcee975',
  chunkPath:
    'datasets/99c3347d-f3ad-4d0e-8b28-833bdfae48c2/documents/5472522e-dd15-42d1-b208-958d8ab250ed' +
    '/segments/53d0cc2f-b5e4-4d62-93e3-09a263bd539b/child_chunks/7f25d0b8-1c2b-46cc-bbaf-08268ca9c5c0',
};

const starterReach = { workspace_id: ids.workspace, app_id: ids.app, dataset_ids: null };

export type Secrets = Record<KeyKind, string>;

/** Loads the starter records and a key of each kind into an empty store, all in one import. */
export async function loadStarter(store: Store): Promise<Secrets> {
  const secrets = Object.fromEntries(keyKinds.map((kind) => [kind, makeSecret(kind)])) as Secrets;
  const keys = keyKinds.map((kind) => ({
    record: 'api_key',
    id: randomUUID(),
    kind,
    ...Object.fromEntries(storedReachFields(kind).map((field) => [field, starterReach[field]])),
    name: `starter ${kind}`,
    secret: secrets[kind],
  }));
  const lines = keys.map((key) => `${JSON.stringify(key)}\n`).join('');
  const records = await readStarterRecords(epochSeconds());
  await importRecords(store, commandLine, [{ bytes: [Buffer.from(records + lines)] }], epochSeconds());
  return secrets;
}

/** Commands to try first, with the address and the keys of this instance. */
export function welcome(base: string, secrets: Secrets, signInToken?: string): string {
  const bearer = (kind: KeyKind) => `-H 'Authorization: Bearer ${secrets[kind]}'`;
  const edit = `-H 'Content-Type: application/json' -d '{"content":"Grind a little finer when the shot runs too fast."}'`;
  return `
Backscroll is running at ${base}/v1 with starter records.

The newest messages of a conversation:
curl -sS '${base}/v1/messages?conversation_id=${ids.conversation}&limit=3' ${bearer('app')}

Replace the text of a child chunk:
curl -sS -X PATCH '${base}/v1/${ids.chunkPath}' ${bearer('knowledge')} ${edit}

The embedding models:
curl -sS '${base}/v1/workspaces/current/models/model-types/text-embedding' ${bearer('app')}

${pages(base)}${signInToken === undefined ? '' : `\nOpen the console without a key (once, within 10 minutes):\n${base}/console#sign-in=${signInToken}\n`}
Its keys, shown only once (more: npx backscroll keys --help):
${keyKinds.map((kind) => `  ${kind.padEnd(9)}  ${secrets[kind]}`).join('\n')}
`;
}

export const pages = (base: string): string => `\
Console:       ${base}/console (sign in with an admin key)
API reference: ${base}/docs
`;
