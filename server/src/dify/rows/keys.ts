import { RecordMapper } from '../map/record-mapper.ts';
import { isSelected, queryIds, type Reading, type RecordInput, type Row } from '../source.ts';

/** `age` is 1 for the newest row with its token. */
type KeyRow = Row & { age: number; app_id: string | null; workspace_id: string | null };

/**
 * API keys. A token never leaves the source: its digest is computed in the source. A key that the source would reject is revoked at
 * `revokedAt`. `datasets` are the records of all selected datasets, read before: knowledge keys reach those of them whose API
 * is enabled now.
 */
export async function readKeys(
  reading: Reading,
  revokedAt: number,
  datasets: readonly RecordInput[],
): Promise<RecordInput[]> {
  const { source, options } = reading;
  // Dify looks for the owner of the workspace, in whose name a key acts.
  const hasOwner = source.has('tenant_account_joins')
    ? `EXISTS (SELECT FROM tenant_account_joins j WHERE j.tenant_id = t.id AND j.role = 'owner')`
    : 'true';
  const rows = await source.query<KeyRow>(
    `SELECT k.id, k.type, encode(sha256(convert_to(k.token, 'UTF8')), 'hex') AS digest,
       floor(extract(epoch FROM k.created_at))::float8 AS created_at, k.age::int4 AS age, k.token = '' AS is_empty,
       a.id AS app_id, t.id AS workspace_id,
       coalesce(t.status = 'normal' AND ${hasOwner} AND (k.type = 'dataset' OR a.status = 'normal' AND a.enable_api), false) AS is_active
     FROM (SELECT *, row_number() OVER (PARTITION BY token ORDER BY created_at DESC, id DESC) AS age FROM api_tokens) k
     LEFT JOIN apps a ON k.type = 'app' AND a.id = k.app_id
     LEFT JOIN tenants t ON t.id = CASE k.type WHEN 'app' THEN a.tenant_id ELSE k.tenant_id END
     ORDER BY k.created_at, k.id`,
    [],
  );
  const closed = 'SELECT id FROM datasets WHERE enable_api IS NOT TRUE';
  const closedIds = new Set(source.has('datasets', 'enable_api') ? await queryIds(source, closed) : []);
  const reach = new Map<string, string[] | null>();
  const records: RecordInput[] = [];
  for (const row of rows) {
    if (!isSelected(row, options)) continue;
    const mapper = new RecordMapper('api_key', row.id, reading);
    const reason = reasonToSkip(row);
    if (reason !== undefined) {
      mapper.skip(undefined, reason);
      continue;
    }
    const { id, app_id, workspace_id } = row;
    const isApp = row.type === 'app';
    if (!isApp && workspace_id !== null && !reach.has(workspace_id)) {
      reach.set(workspace_id, reachOf(workspace_id, datasets, closedIds));
    }
    const record = mapper.finish({
      record: 'api_key',
      id,
      kind: isApp ? 'app' : 'knowledge',
      workspace_id,
      app_id,
      dataset_ids: isApp ? null : (reach.get(workspace_id ?? '') ?? null),
      name: 'from Dify',
      digest: row.digest,
      created_at: row.created_at,
      revoked_at: row.is_active ? null : revokedAt,
    });
    if (record !== undefined) records.push(record);
  }
  return records;
}

function reasonToSkip(row: KeyRow): string | undefined {
  if (row.type !== 'app' && row.type !== 'dataset') return 'unknown type';
  if (row.type === 'app' && row.app_id === null) return 'app missing';
  if (row.workspace_id === null) return 'workspace missing';
  if (row.is_empty) return 'empty token';
  // The source would accept any of them, in no fixed order.
  return row.age > 1 ? 'equal to a newer key' : undefined;
}

/** The datasets that a knowledge key of the workspace reaches: null for all, an empty list for none. */
function reachOf(
  workspaceId: string,
  datasets: readonly RecordInput[],
  closedIds: ReadonlySet<string>,
): string[] | null {
  const ids = datasets.filter(({ workspace_id }) => workspace_id === workspaceId).map(({ id }) => id as string);
  return ids.some((id) => closedIds.has(id)) ? ids.filter((id) => !closedIds.has(id)) : null;
}
