import { type AppRow, configColumns, mapApp, siteColumns } from '../map/app.ts';
import { RecordMapper } from '../map/record-mapper.ts';
import type { Reading, RecordInput } from '../source.ts';
import { readRows } from './selection.ts';

export async function readWorkspaces(reading: Reading): Promise<RecordInput[]> {
  const rows = await readRows<{ id: string; name: string | null }>(reading, 'workspace', 't.id, t.name');
  return rows.flatMap(({ id, name }) => {
    const record: RecordInput = { record: 'workspace', id, name: name ?? '' };
    return new RecordMapper('workspace', id, reading).finish(record) ?? [];
  });
}

/** Apps are read in batches of this size: their settings may be long. */
const batchSize = 50;

export async function readApps(reading: Reading): Promise<RecordInput[]> {
  const records: RecordInput[] = [];
  for (let after: string | undefined = ''; after !== undefined; ) {
    const rows: AppRow[] = await readAppRows(reading, after);
    records.push(...rows.flatMap((row) => mapApp(row, reading) ?? []));
    after = rows.length === batchSize ? rows.at(-1)?.id : undefined;
  }
  return records;
}

function readAppRows(reading: Reading, after: string): Promise<AppRow[]> {
  const { source } = reading;
  const hasConfigs = source.has('app_model_configs');
  const hasSites = source.has('sites');
  const config = configColumns.map((name) =>
    source.has('app_model_configs', name) ? `m.${name}::text AS ${name}` : `NULL AS ${name}`,
  );
  const siteFields = siteColumns.filter((name) => source.has('sites', name)).map((name) => `'${name}', x.${name}`);
  const annotation = 'EXISTS (SELECT FROM app_annotation_settings n WHERE n.app_id = a.id)';
  const selected = `a.id, a.tenant_id AS workspace_id, a.name, a.mode,
    ${source.has('apps', 'description') ? 'a.description' : 'NULL'} AS description,
    ${source.has('app_annotation_settings') ? annotation : 'false'} AS has_annotation_reply,
    ${source.has('workflows', 'features') ? 'w.features' : 'NULL'} AS features,
    ${source.has('workflows', 'graph') ? 'w.graph' : 'NULL'} AS graph,
    ${hasConfigs ? 'm.id' : 'NULL'} AS config_id, ${config.join(', ')}, ${hasSites ? 'y.site' : 'NULL'} AS site`;
  const site = `LEFT JOIN LATERAL (SELECT json_build_object(${siteFields.join(', ')})::text AS site FROM sites x
    WHERE x.app_id = a.id ORDER BY x.created_at, x.id LIMIT 1) y ON true`;
  const joins = [
    hasConfigs ? 'LEFT JOIN app_model_configs m ON m.id = a.app_model_config_id' : '',
    source.has('workflows') ? 'LEFT JOIN workflows w ON w.id = a.workflow_id' : '',
    hasSites ? site : '',
  ].join(' ');
  return readRows<AppRow>(reading, 'app', selected, { joins, after, limit: batchSize });
}
