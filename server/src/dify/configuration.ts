import type { StoredRecord } from '../domain/store/import-sources.ts';
import { addChildren, beginWhole } from './children.ts';
import { readApps, readWorkspaces } from './rows/apps.ts';
import { readDatasets } from './rows/datasets.ts';
import { readKeys } from './rows/keys.ts';
import type { RunContext } from './run-context.ts';
import { type Found, isSelected, nowSeconds, type RecordInput, type Report } from './source.ts';

/**
 * Imports workspaces, apps, datasets and keys together: a dataset that is closed to the API is never readable in Backscroll, not even
 * for a moment. Datasets are read before keys, so that a key never reaches one that was closed in between. The children of
 * new ones are added to `changed`; a full sync reads them anyway.
 */
export async function importConfiguration(context: RunContext, changed: Found | undefined): Promise<void> {
  const { writer, state } = context;
  // These tables are read by every sync: nothing is counted again.
  const reading = { ...context, report: { ...context.report, count: () => undefined } };
  const workspaces = await readWorkspaces(reading);
  const apps = await readApps(reading);
  const datasets = await readDatasets(reading);
  const now = nowSeconds(context);
  const keys = await readKeys(reading, now, datasets);
  const reachable = await withoutGone(context, keys, datasets);
  const merged = await mergeKeys(context, reachable, now, reading.report);
  await state.addIds(revocationList, merged.revocations);
  const idsOf = (records: readonly RecordInput[]) =>
    changed === undefined ? [] : records.map(({ id }) => id as string);
  const newApps = await beginWhole(context, 'app', idsOf(apps));
  const newDatasets = await beginWhole(context, 'dataset', idsOf(datasets));
  await writer.writeTogether([...workspaces, ...apps, ...datasets, ...merged.records]);
  if (changed === undefined) return;
  await addChildren(context, changed, 'app', newApps);
  await addChildren(context, changed, 'dataset', newDatasets);
}

/** Knowledge keys reach no dataset that is gone from the source. */
async function withoutGone(
  { state, store }: RunContext,
  keys: readonly RecordInput[],
  datasets: readonly RecordInput[],
): Promise<RecordInput[]> {
  const present = new Set(datasets.map(({ id }) => id as string));
  const goneIds = (await state.listAll('dataset')).filter((id) => !present.has(id));
  const gone = [...((await store?.lookup('dataset', goneIds)) ?? []).values()];
  const incomplete = new Set<unknown>(gone.map(({ parent }) => parent));
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
  const { options, state, store } = context;
  const listed = await state.listAll('api_key');
  const known = new Set(listed);
  const ids = new Set([...listed, ...keys.map(({ id }) => id as string)]);
  const stored = (await store?.imports.findRecords('api_key', [...ids])) ?? new Map<string, StoredRecord>();
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
