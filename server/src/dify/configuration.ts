import type { StoredRecord } from '../domain/store/import-sources.ts';
import { addChildren, beginWhole } from './children.ts';
import type { IdSets } from './id-set.ts';
import { readKeys } from './rows/keys.ts';
import { readDatasets } from './rows/knowledge.ts';
import { readApps, readWorkspaces } from './rows/workspaces.ts';
import { nowSeconds, type RunContext } from './run-context.ts';
import { type ImportOptions, isOneOf, type RecordInput, type Report } from './source.ts';

const listBatch = 5_000;

/**
 * Imports workspaces, apps, datasets and keys together: a dataset that is closed to the API is never readable in Backscroll, not even
 * for a moment. Datasets are read before keys, so that a key never reaches one that was closed in between. The children of
 * new ones are added to `changed`; a full sync reads them anyway.
 */
export async function importConfiguration(context: RunContext, changed: IdSets | undefined): Promise<void> {
  const { writer, state } = context;
  const reading = { ...context, report: onceOf(context) };
  const workspaces = await readWorkspaces(reading);
  const apps = await readApps(reading);
  const datasets = await readDatasets(reading);
  const now = nowSeconds(context);
  const keys = await readKeys(reading, now, datasets);
  const reachable = await withoutGone(context, keys, datasets);
  const merged = await mergeKeys(context, reachable, now, reading.report);
  await state.addIds(revocationList, merged.revocations);
  const parents = [];
  for (const [kind, records] of [['app', apps] as const, ['dataset', datasets] as const]) {
    if (changed === undefined) break;
    const found = records.map(({ id }) => id as string);
    parents.push({ kind, whole: await beginWhole(context, kind, found) });
  }
  await writer.writeTogether([...workspaces, ...apps, ...datasets, ...merged.records]);
  for (const { kind, whole } of parents) if (changed !== undefined) await addChildren(context, changed, kind, whole);
}

/** These tables are read by every sync: what they skip is listed once. */
function onceOf({ report, listedSkips }: RunContext): Report {
  return {
    count: () => undefined,
    skip: (skip) => {
      const key = JSON.stringify(skip);
      if (listedSkips.has(key)) return;
      listedSkips.add(key);
      report.skip(skip);
    },
  };
}

/** Knowledge keys reach no dataset that is gone from the source. */
async function withoutGone(
  context: RunContext,
  keys: readonly RecordInput[],
  datasets: readonly RecordInput[],
): Promise<RecordInput[]> {
  const present = new Set(datasets.map(({ id }) => id as string));
  const goneIds = (await listAll(context, 'dataset')).filter((id) => !present.has(id));
  const gone = await findStored(context, 'dataset', goneIds);
  const incomplete = new Set([...gone.values()].map(({ workspace_id }) => workspace_id));
  return keys.map((key) => {
    if (key.kind !== 'knowledge' || key.dataset_ids !== null || !incomplete.has(key.workspace_id)) return key;
    const ofWorkspace = datasets.filter(({ workspace_id }) => workspace_id === key.workspace_id);
    return { ...key, dataset_ids: ofWorkspace.map(({ id }) => id) };
  });
}

/**
 * The keys to write. What was set in Backscroll is always kept: name, expiry, read-only and revocation. A revocation is cleared only
 * if an import has made it. Keys that came from the source and are gone from it are revoked.
 */
async function mergeKeys(
  context: RunContext,
  keys: readonly RecordInput[],
  now: number,
  report: Report,
): Promise<{ records: RecordInput[]; revocations: string[] }> {
  const { options, state } = context;
  const listed = await listAll(context, 'api_key');
  const known = new Set(listed);
  const stored = await findStored(context, 'api_key', [...new Set([...listed, ...keys.map(({ id }) => id as string)])]);
  const storedByDigest = new Map([...stored.values()].map((key) => [key.digest, key]));
  const revoked = [...stored.values()].filter(({ revoked_at }) => revoked_at !== null);
  const madeRevocations = await state.findIds(revocationList, revoked.map(revocationOf));
  const revocations: string[] = [];
  const records: RecordInput[] = [];
  const present = new Set<string>();
  for (const key of keys) {
    // A key with an equal token may have been imported before this one.
    const storedKey = stored.get(key.id as string) ?? storedByDigest.get(key.digest);
    if (!options.keys && !(storedKey !== undefined && known.has(storedKey.id))) continue;
    if (storedKey === undefined) {
      if (key.revoked_at !== null) revocations.push(revocationOf(key));
      records.push(key);
      continue;
    }
    // A key never changes its app. The stored one is revoked below: it is not the newest with its token.
    if (storedKey.app_id !== key.app_id || storedKey.workspace_id !== key.workspace_id) {
      report.skip({ kind: 'api_key', id: key.id as string, reason: 'token of a stored key of another app' });
      continue;
    }
    const { id, name, expires_at, read_only } = storedKey;
    present.add(id);
    const isOwn = madeRevocations.has(revocationOf(storedKey));
    const isActive = key.revoked_at === null;
    const revoked_at =
      storedKey.revoked_at === null ? (isActive ? null : now) : isActive && isOwn ? null : storedKey.revoked_at;
    if (revoked_at === now && storedKey.revoked_at === null) revocations.push(revocationOf({ id, revoked_at }));
    records.push({ ...key, id, name, expires_at, read_only, revoked_at });
  }
  for (const id of listed) {
    const storedKey = stored.get(id);
    if (storedKey === undefined || present.has(id) || storedKey.revoked_at !== null) continue;
    if (!isSelected(storedKey, options)) continue;
    revocations.push(revocationOf({ id, revoked_at: now }));
    records.push({ ...storedKey, record: 'api_key', revoked_at: now });
  }
  return { records, revocations };
}

/** The list of revocations that imports have made, with their times: a revocation at another time was made in Backscroll. */
const revocationList = 'revocation';
const revocationOf = ({ id, revoked_at }: Record<string, unknown>): string => `${id} ${revoked_at}`;

/** Whether a stored key belongs to what this run reads. */
const isSelected = ({ workspace_id, app_id }: StoredRecord, { workspaceIds, appIds }: ImportOptions): boolean =>
  isOneOf(workspace_id, workspaceIds) && isOneOf(app_id, appIds);

async function listAll({ state }: RunContext, kind: string): Promise<string[]> {
  const ids: string[] = [];
  for (let after = ''; ; ) {
    const batch = await state.listIds(kind, after, listBatch);
    ids.push(...batch);
    after = batch.at(-1) ?? '';
    if (batch.length < listBatch) return ids;
  }
}

async function findStored(
  { store }: RunContext,
  kind: 'api_key' | 'dataset',
  ids: readonly string[],
): Promise<Map<string, StoredRecord>> {
  return (await store?.imports.findRecords(kind, ids)) ?? new Map();
}
