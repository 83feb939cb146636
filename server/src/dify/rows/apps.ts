import { asText, isObject, type OpenObject, pick, words } from '../map/json.ts';
import { RecordMapper } from '../map/record-mapper.ts';
import type { Mapping, Reading, RecordInput, Row } from '../source.ts';
import { columns, readRows, text } from './selection.ts';

export async function readWorkspaces(reading: Reading): Promise<RecordInput[]> {
  const rows = await readRows<Row>(reading, 'workspace', 't.id, t.name');
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
    const rows: Row[] = await readAppRows(reading, after);
    records.push(...rows.flatMap((row) => mapApp(row, reading) ?? []));
    after = rows.length === batchSize ? rows.at(-1)?.id : undefined;
  }
  return records;
}

/** Rows of `apps` with their settings: the columns of `app_model_configs`, or those of its published workflow. */
function readAppRows(reading: Reading, after: string): Promise<Row[]> {
  const { source } = reading;
  const siteFields = siteColumns.filter((name) => source.has('sites', name)).map((name) => `'${name}', x.${name}`);
  const annotation = 'EXISTS (SELECT FROM app_annotation_settings n WHERE n.app_id = a.id)';
  const selected = `a.id, a.tenant_id AS workspace_id, a.name, a.mode, ${columns(source, 'apps', 'a', ['description'])},
    ${source.has('app_annotation_settings') ? annotation : 'false'} AS has_annotation_reply,
    ${columns(source, 'workflows', 'w', ['features', 'graph'])},
    ${source.has('app_model_configs') ? 'm.id' : 'NULL'} AS config_id,
    ${columns(source, 'app_model_configs', 'm', configColumns, text)}, ${source.has('sites') ? 'y.site' : 'NULL'} AS site`;
  const site = `LEFT JOIN LATERAL (SELECT json_build_object(${siteFields.join(', ')})::text AS site FROM sites x
    WHERE x.app_id = a.id ORDER BY x.created_at, x.id LIMIT 1) y ON true`;
  const joins = [
    source.has('app_model_configs') ? 'LEFT JOIN app_model_configs m ON m.id = a.app_model_config_id' : '',
    source.has('workflows') ? 'LEFT JOIN workflows w ON w.id = a.workflow_id' : '',
    source.has('sites') ? site : '',
  ].join(' ');
  return readRows<Row>(reading, 'app', selected, { joins, after, limit: batchSize });
}

/** Columns of `app_model_configs`. The others have prompts, models and credentials of tools: they are never read. */
const configColumns = words(`
  opening_statement suggested_questions suggested_questions_after_answer speech_to_text text_to_speech
  more_like_this user_input_form sensitive_word_avoidance retriever_resource file_upload`);

/** Columns of `sites` that the API shows. `code` is left out: it opens the web app. */
const siteColumns = words(`
  title chat_color_theme chat_color_theme_inverted icon_type icon icon_background description copyright
  privacy_policy input_placeholder custom_disclaimer default_language show_workflow_steps
  use_icon_as_answer_icon`);

export function mapApp(row: Row, reading: Mapping): RecordInput | undefined {
  const mapper = new RecordMapper('app', row.id, reading);
  const site = mapper.object(row.site, 'site');
  const record: RecordInput = {
    record: 'app',
    id: row.id,
    workspace_id: row.workspace_id,
    name: row.name,
    mode: row.mode,
    description: mapper.textOrNull(row.description),
    parameters: mapParameters(row, mapper),
    site: site === undefined ? null : pick(site, siteColumns),
  };
  return mapper.finish(record, { optional: { parameters: null, site: null, description: null } });
}

/** The response of `GET /v1/parameters` for the app, or null if there are no settings. */
function mapParameters(row: Row, mapper: RecordMapper): OpenObject | null {
  const isWorkflow = row.mode === 'advanced-chat' || row.mode === 'workflow';
  const settings = isWorkflow ? readWorkflow(row, mapper) : readConfig(row, mapper);
  if (settings === undefined) return null;
  const parameters: OpenObject = { annotation_reply: { enabled: row.has_annotation_reply } };
  // A workflow without this setting has no citations; the default of the parameters is the opposite.
  if (isWorkflow) parameters.retriever_resource = { enabled: false };
  // Dify names the empty settings differently where there is no workflow.
  else parameters.sensitive_word_avoidance = { enabled: false, type: '', config: {} };
  for (const [name, select] of Object.entries(selectors)) {
    const value = settings[name] ?? undefined;
    if (value === undefined) continue;
    const selected = select(value);
    if (selected === undefined) mapper.skip(`parameters.${name}`, 'wrong type');
    else parameters[name] = selected;
  }
  return parameters;
}

function readConfig(row: Row, mapper: RecordMapper): OpenObject | undefined {
  if (row.config_id === null) return undefined;
  const read = (name: string) =>
    name === 'opening_statement' ? mapper.textOrNull(row[name]) : mapper.json(row[name], `parameters.${name}`);
  return Object.fromEntries(configColumns.map((name) => [name, read(name)]));
}

/** The features of a workflow, and the variables of its Start node as a form. Nothing else of its graph is imported. */
function readWorkflow(row: Row, mapper: RecordMapper): OpenObject | undefined {
  const features = mapper.object(row.features, 'parameters');
  const form = readStartForm(row, mapper);
  return features === undefined && form === undefined ? undefined : { ...features, user_input_form: form };
}

const formPart = 'parameters.user_input_form';

function readStartForm(row: Row, mapper: RecordMapper): OpenObject[] | undefined {
  const { nodes } = mapper.object(row.graph, formPart) ?? {};
  if (nodes === undefined) return undefined;
  const all: unknown[] = Array.isArray(nodes) ? nodes : [];
  const ofNodes = all.map((node) => (isObject(node) && isObject(node.data) ? node.data : {}));
  const variables = ofNodes.find(({ type }) => type === 'start')?.variables ?? [];
  if (!Array.isArray(nodes) || !Array.isArray(variables)) return mapper.skip(formPart, 'not a list');
  return variables.flatMap((variable, index) => {
    const type = isObject(variable) ? variable.type : undefined;
    return typeof type === 'string' ? { [type]: variable } : (mapper.skip(`${formPart}[${index}]`, 'wrong type') ?? []);
  });
}

/** Selects what is imported of a parameter; undefined if its type is wrong. */
type Select = (value: unknown) => unknown;

const fields =
  (...names: readonly string[]): Select =>
  (value) =>
    isObject(value) ? pick(value, names) : undefined;

const flag: Select = (value) => (isObject(value) ? { enabled: value.enabled === true } : undefined);

const uploadFields = words(`
  enabled number_limits detail transfer_methods allowed_file_types allowed_file_extensions
  allowed_file_upload_methods`);
const uploadKinds = ['image', 'document', 'audio', 'video', 'custom'];

/**
 * The settings of a parameter may contain more than its users should see: `suggested_questions_after_answer` has a prompt,
 * `sensitive_word_avoidance` the words, `user_input_form` the configuration of external tools. So names are selected here.
 */
const selectors: Readonly<Record<string, Select>> = {
  opening_statement: (value) => asText(value),
  suggested_questions: (value) =>
    Array.isArray(value) ? value.filter((question) => typeof question === 'string') : undefined,
  suggested_questions_after_answer: flag,
  speech_to_text: flag,
  text_to_speech: fields('enabled', 'voice', 'language', 'autoPlay'),
  more_like_this: flag,
  retriever_resource: flag,
  user_input_form: (value) => (Array.isArray(value) ? value.filter(isObject).map(mapFormField) : undefined),
  sensitive_word_avoidance: (value) => {
    if (!isObject(value)) return undefined;
    const { config } = value;
    const settings = isObject(config) ? { config: mapModeration(config) } : { configs: [] };
    return { enabled: value.enabled === true, type: asText(value.type) ?? '', ...settings };
  },
  file_upload: (value) => {
    if (!isObject(value)) return undefined;
    const kinds = uploadKinds.filter((kind) => isObject(value[kind]));
    const limits = kinds.map((kind) => [kind, pick(value[kind] as OpenObject, uploadFields)]);
    return { ...Object.fromEntries(limits), ...pick(value, uploadFields) };
  },
};

/** Whether questions and answers are moderated, with the fixed answers. */
const mapModeration = (config: OpenObject): OpenObject =>
  Object.fromEntries(
    ['inputs_config', 'outputs_config'].flatMap((name) => {
      const side = config[name];
      return isObject(side) ? [[name, pick(side, ['enabled', 'preset_response'])]] : [];
    }),
  );

const formFieldNames = words(`
  type label variable description hint placeholder required hide default max_length options number_limits
  allowed_file_types allowed_file_extensions allowed_file_upload_methods json_schema`);

/** A field of the form is an object with one name, its type: `{"text-input": {…}}`. */
function mapFormField(field: OpenObject): OpenObject {
  return Object.fromEntries(
    Object.entries(field).map(([type, value]) => [type, isObject(value) ? pick(value, formFieldNames) : {}]),
  );
}
