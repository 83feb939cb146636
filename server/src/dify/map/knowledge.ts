import { constantsOf, KnowledgeBase } from '../../contract/knowledge.ts';
import { compile, type Validator } from '../../contract/validator.ts';
import type { Mapping, RecordInput } from '../source.ts';
import { isObject, type OpenObject, pick } from './json.ts';
import { RecordMapper } from './record-mapper.ts';

export type DatasetRow = {
  id: string;
  workspace_id: string;
  name: string;
  description: string | null;
  indexing_technique: string | null;
  embedding_model: string | null;
  embedding_model_provider: string | null;
  doc_form: string | null;
  data_source_type: string | null;
  created_at: number;
  updated_at: number;
  provider: string | null;
  permission: string | null;
  retrieval_model: string | null;
  summary_index_setting: string | null;
  icon_info: string | null;
  built_in_field_enabled: boolean | null;
  runtime_mode: string | null;
  pipeline_id: string | null;
  chunk_structure: string | null;
  enable_api: boolean | null;
  is_multimodal: boolean | null;
  created_by: string | null;
  updated_by: string | null;
  maintainer: string | null;
};

/** Fields of a dataset from other tables. The address and the key of an external API are never read. */
export type DatasetDetails = { tags: OpenObject[]; metadata: OpenObject[]; external: OpenObject | undefined };

export function mapDataset(
  row: DatasetRow,
  { tags, metadata, external }: DatasetDetails,
  reading: Mapping,
): RecordInput | undefined {
  const mapper = new RecordMapper('dataset', row.id, reading);
  const record: RecordInput = {
    record: 'dataset',
    ...pick(row, ['id', 'workspace_id', 'name', 'description', 'indexing_technique', 'embedding_model']),
    ...pick(row, ['embedding_model_provider', 'doc_form', 'data_source_type', 'created_at', 'updated_at']),
    tags,
    settings: selectSettings(mapper, {
      ...pick(row, ['provider', 'permission', 'built_in_field_enabled', 'runtime_mode', 'pipeline_id']),
      ...pick(row, ['chunk_structure', 'enable_api', 'is_multimodal', 'created_by', 'updated_by', 'maintainer']),
      retrieval_model_dict: {
        ...retrievalDefaults,
        ...mapper.object(row.retrieval_model, 'settings.retrieval_model_dict'),
      },
      // Without its prompt.
      summary_index_setting: withoutPrompt(mapper.object(row.summary_index_setting, 'settings.summary_index_setting')),
      icon_info: mapper.object(row.icon_info, 'settings.icon_info'),
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
