import { type AppRow, configColumns, mapApp, siteColumns } from '../map/app.ts';
import { RecordMapper } from '../map/record-mapper.ts';
import type { DifySource, ImportOptions, RecordInput, Report } from '../source.ts';
import { conditionOf, Parameters, tables } from './selection.ts';

export async function readWorkspaces(
  source: DifySource,
  options: ImportOptions,
  report: Report,
): Promise<RecordInput[]> {
  const parameters = new Parameters();
  const rows = await source.query<{ id: string; name: string | null }>(
    `SELECT t.id, t.name FROM ${tables.workspaces}
     WHERE ${conditionOf('workspaces', options, parameters)} ORDER BY t.id`,
    parameters.values,
  );
  return rows.flatMap(({ id, name }) => {
    const record: RecordInput = { record: 'workspace', id, name: name ?? '' };
    return new RecordMapper('workspace', id, options, report).finish(record) ?? [];
  });
}

/** Apps are read in batches of this size: their settings may be long. */
const batchSize = 50;

export async function readApps(source: DifySource, options: ImportOptions, report: Report): Promise<RecordInput[]> {
  const records: RecordInput[] = [];
  let last: string | undefined;
  do {
    const rows: AppRow[] = await readAppRows(source, options, last);
    records.push(...rows.flatMap((row) => mapApp(row, options, report) ?? []));
    last = rows.length === batchSize ? rows.at(-1)?.id : undefined;
  } while (last !== undefined);
  return records;
}

function readAppRows(source: DifySource, options: ImportOptions, last: string | undefined): Promise<AppRow[]> {
  const parameters = new Parameters();
  const conditions = [conditionOf('apps', options, parameters)];
  if (last !== undefined) conditions.push(`a.id > ${parameters.bind(last)}::uuid`);
  const hasConfigs = source.has('app_model_configs');
  const hasSites = source.has('sites');
  const config = configColumns.map((name) =>
    source.has('app_model_configs', name) ? `m.${name}::text AS ${name}` : `NULL AS ${name}`,
  );
  const siteFields = siteColumns.filter((name) => source.has('sites', name)).map((name) => `'${name}', x.${name}`);
  const annotation = 'EXISTS (SELECT FROM app_annotation_settings n WHERE n.app_id = a.id)';
  return source.query<AppRow>(
    `SELECT a.id, a.tenant_id AS workspace_id, a.name, a.mode,
       ${source.has('apps', 'description') ? 'a.description' : 'NULL'} AS description,
       ${source.has('app_annotation_settings') ? annotation : 'false'} AS has_annotation_reply,
       ${source.has('workflows', 'features') ? 'w.features' : 'NULL'} AS features,
       ${source.has('workflows', 'graph') ? 'w.graph' : 'NULL'} AS graph,
       ${hasConfigs ? 'm.id' : 'NULL'} AS config_id, ${config.join(', ')},
       ${hasSites ? 'y.site' : 'NULL'} AS site
     FROM ${tables.apps}
     ${hasConfigs ? 'LEFT JOIN app_model_configs m ON m.id = a.app_model_config_id' : ''}
     ${source.has('workflows') ? 'LEFT JOIN workflows w ON w.id = a.workflow_id' : ''}
     ${
       hasSites
         ? `LEFT JOIN LATERAL (SELECT json_build_object(${siteFields.join(', ')})::text AS site FROM sites x
              WHERE x.app_id = a.id ORDER BY x.created_at, x.id LIMIT 1) y ON true`
         : ''
     }
     WHERE ${conditions.join(' AND ')} ORDER BY a.id LIMIT ${batchSize}`,
    parameters.values,
  );
}
