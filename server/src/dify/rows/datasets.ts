import { constantsOf, KnowledgeBase } from '../../contract/knowledge.ts';
import { compile, type Validator } from '../../contract/validator.ts';
import { isObject, type OpenObject, pick, words } from '../map/json.ts';
import { RecordMapper } from '../map/record-mapper.ts';
import { type DifySource, epoch, type Mapping, type Reading, type RecordInput, type Row } from '../source.ts';
import { columns, readRows, text } from './selection.ts';

/** Fields of the record, and its settings in their order. */
const fields = words('id name description indexing_technique embedding_model embedding_model_provider');
const settings = words(`
  provider permission built_in_field_enabled runtime_mode pipeline_id chunk_structure enable_api is_multimodal created_by
  updated_by maintainer`);

export async function readDatasets(reading: Reading): Promise<RecordInput[]> {
  const { source } = reading;
  const own = (names: readonly string[], read?: (column: string) => string) =>
    columns(source, 'datasets', 's', names, read);
  const structure = source.has('datasets', 'chunk_structure') ? "nullif(s.chunk_structure, '')" : 'NULL';
  const rows = await readRows<Row>(
    reading,
    'dataset',
    `s.tenant_id AS workspace_id, s.data_source_type, ${own(['created_at', 'updated_at'], epoch)},
       coalesce(${structure}, (SELECT min(d.doc_form) FROM documents d WHERE d.dataset_id = s.id)) AS doc_form,
       ${source.has('datasets', 'enable_api') ? 's.enable_api IS TRUE' : 'true'} AS enable_api,
       ${own([...fields, ...settings.filter((name) => name !== 'enable_api')])},
       ${own(['retrieval_model', 'summary_index_setting', 'icon_info'], text)}`,
  );
  const details = await readDatasetDetails(source);
  return rows.flatMap((row) => mapDataset(row, details(row.id), reading) ?? []);
}

type OfDataset = { dataset_id: string };

async function readDatasetDetails(source: DifySource) {
  const read = async <R extends OfDataset>(names: readonly string[], sql: string) => {
    const rows = names.every((name) => source.has(name)) ? await source.query<R>(sql, []) : [];
    return Map.groupBy(rows, ({ dataset_id }) => dataset_id);
  };
  const tags = await read(
    ['tags', 'tag_bindings'],
    `SELECT DISTINCT b.target_id AS dataset_id, g.id, g.name, g.type FROM tag_bindings b JOIN tags g ON g.id = b.tag_id
     WHERE g.type = 'knowledge' AND g.tenant_id = b.tenant_id AND b.target_id IS NOT NULL ORDER BY g.name, g.id`,
  );
  const metadata = await read(
    ['dataset_metadatas'],
    'SELECT x.dataset_id, x.id, x.name, x.type FROM dataset_metadatas x ORDER BY x.created_at, x.id',
  );
  const external = await read(
    ['external_knowledge_bindings', 'external_knowledge_apis'],
    `SELECT b.dataset_id, b.external_knowledge_id, x.id AS external_knowledge_api_id, x.name AS external_knowledge_api_name
     FROM external_knowledge_bindings b JOIN external_knowledge_apis x
       ON x.id = b.external_knowledge_api_id AND x.tenant_id = b.tenant_id
     ORDER BY b.created_at, b.id`,
  );
  const withoutDataset = ({ dataset_id: _, ...fields }: OfDataset): OpenObject => fields;
  return (id: string) => ({
    tags: (tags.get(id) ?? []).map(withoutDataset),
    metadata: (metadata.get(id) ?? []).map(withoutDataset),
    external: external.get(id)?.map(withoutDataset)[0],
  });
}

/** Fields of a dataset from other tables. The address and the key of an external API are never read. */
export type DatasetDetails = { tags: OpenObject[]; metadata: OpenObject[]; external: OpenObject | undefined };

export function mapDataset(
  row: Row,
  { tags, metadata, external }: DatasetDetails,
  reading: Mapping,
): RecordInput | undefined {
  const mapper = new RecordMapper('dataset', row.id, reading);
  const setting = (name: string) => mapper.object(row[name], `settings.${name}`);
  const retrieval_model_dict = {
    ...retrievalDefaults,
    ...mapper.object(row.retrieval_model, 'settings.retrieval_model_dict'),
  };
  const record: RecordInput = {
    record: 'dataset',
    ...pick(row, [...fields, 'workspace_id', 'doc_form', 'data_source_type', 'created_at', 'updated_at']),
    tags,
    settings: selectSettings(mapper, {
      ...pick(row, settings),
      retrieval_model_dict,
      // Without its prompt.
      summary_index_setting: withoutPrompt(setting('summary_index_setting')),
      icon_info: setting('icon_info'),
      external_knowledge_info: external,
      doc_metadata: metadata.length === 0 ? undefined : metadata,
    }),
  };
  return mapper.finish(record, {
    lists: ['tags'],
    optional: { settings: null, description: null, created_at: 0, updated_at: 0 },
  });
}

/** What Dify shows where no reranking model was chosen. */
const retrievalDefaults = { reranking_model: { reranking_provider_name: '', reranking_model_name: '' } };

const withoutPrompt = (setting: OpenObject | undefined): OpenObject | undefined =>
  setting && pick(setting, ['enable', 'model_name', 'model_provider_name']);

const constants = constantsOf(KnowledgeBase);
const validators = new Map<string, Validator>();

/** Settings that replace constants of the knowledge base: known names with valid values, without those that are null. */
function selectSettings(mapper: RecordMapper, settings: OpenObject): OpenObject {
  const selected: OpenObject = {};
  for (const [name, value] of Object.entries(settings)) {
    if (value === null || value === undefined) continue;
    const constant = constants[name];
    const setting = isObject(constant) && isObject(value) ? selectFields(value, constant) : value;
    const whole = isObject(constant) && isObject(setting) ? { ...constant, ...setting } : setting;
    if (validatorOf(name).Check(whole)) selected[name] = setting;
    else mapper.skip(`settings.${name}`, 'wrong type');
  }
  return selected;
}

/** Fields that the constant has, at both levels. */
function selectFields(value: OpenObject, constant: OpenObject): OpenObject {
  const picked = Object.entries(pick(value, Object.keys(constant))).map(([name, inner]) => {
    const innerConstant = constant[name];
    if (!isObject(innerConstant)) return [name, inner];
    return [name, { ...innerConstant, ...(isObject(inner) ? pick(inner, Object.keys(innerConstant)) : {}) }];
  });
  return Object.fromEntries(picked);
}

function validatorOf(name: string): Validator {
  const known = validators.get(name) ?? compile((KnowledgeBase.properties as OpenObject)[name] as never);
  validators.set(name, known);
  return known;
}
