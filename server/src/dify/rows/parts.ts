import { asText, isAbsent, isObject, isUuidText, type OpenObject, pick, withoutInternals } from '../map/json.ts';
import { withoutSlash } from '../map/links.ts';
import type { PartsOf, RecordMapper } from '../map/record-mapper.ts';
import { type DifySource, epoch, type PartRow, type Row } from '../source.ts';
import { columns, readParts } from './selection.ts';

/** A row of `message_files`, with its row of `upload_files`. */
type FileRow = PartRow & { type: string; transfer_method: string; url: string | null; upload_file_id: string | null };
type ToolFiles = ReadonlyMap<string, Row>;

export async function readFiles(source: DifySource, messageIds: readonly string[]): Promise<PartsOf> {
  const files = await readParts<FileRow>(source, ['message_files', 'upload_files'], selectFiles, messageIds);
  const toolFiles = await readToolFiles(source, [...files.values()].flat());
  return ({ id, workspace_id }, mapper) =>
    mapper.parts('message_files', files.get(id), (row, path) => mapFile(mapper, row, path, workspace_id, toolFiles));
}

/**
 * The files of a message are usually inserted together and have equal times; the source returns them in the order of
 * insertion. Their ids are random, so the place of the row decides.
 */
const selectFiles = `
  SELECT f.id, f.message_id, f.type, f.transfer_method, f.url, f.belongs_to, f.upload_file_id, u.id AS upload_id,
    u.name AS upload_name, u.size AS upload_size, u.mime_type AS upload_type, u.tenant_id AS upload_workspace_id
  FROM message_files f LEFT JOIN upload_files u ON u.id = f.upload_file_id
  WHERE f.message_id = ANY($1::uuid[]) ORDER BY f.created_at, f.ctid`;

async function readToolFiles(source: DifySource, files: readonly FileRow[]): Promise<ToolFiles> {
  const ids = new Set(files.flatMap((file) => toolFileId(file) ?? []));
  if (ids.size === 0 || !source.has('tool_files')) return new Map();
  const rows = await source.query<Row>(
    `SELECT f.id, f.tenant_id, f.mimetype, ${columns(source, 'tool_files', 'f', ['name', 'size'])}
     FROM tool_files f WHERE f.id = ANY($1::uuid[])`,
    [[...ids]],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/** The id of a tool file: a column, or in older rows the name of the file in its URL. */
function toolFileId({ transfer_method, upload_file_id, url }: FileRow): string | undefined {
  if (transfer_method !== 'tool_file') return undefined;
  const id = upload_file_id ?? lastSegment(url ?? '').split('.')[0];
  return isUuidText(id) ? id.toLowerCase() : undefined;
}

/** Undefined if the file cannot be imported: then it is listed. */
function mapFile(
  mapper: RecordMapper,
  row: FileRow,
  path: string,
  workspaceId: string,
  toolFiles: ToolFiles,
): OpenObject | undefined {
  const { id, type, transfer_method, belongs_to, upload_file_id } = row;
  const url = row.url ?? '';
  const file = { id, filename: '', type, url: null, mime_type: null, size: null, transfer_method, belongs_to };
  const address = (tail: string): string | null =>
    mapper.filesBase === undefined ? null : `${withoutSlash(mapper.filesBase)}/files/${tail}`;
  const upload = row.upload_workspace_id === workspaceId && {
    ...file,
    ...{ filename: row.upload_name ?? '', mime_type: row.upload_type, size: sizeOf(row.upload_size), upload_file_id },
  };
  switch (transfer_method) {
    case 'local_file':
      if (!upload) return mapper.skip(path, 'upload file missing');
      return { ...upload, url: address(`${row.upload_id}/file-preview`) };
    case 'tool_file': {
      const tool = toolFiles.get(toolFileId(row) ?? '');
      if (tool?.tenant_id !== workspaceId) return mapper.skip(path, 'tool file missing');
      const filename = isAbsent(tool.name) ? nameInUrl(url) : `${tool.name}`;
      return {
        ...file,
        filename,
        url: address(`tools/${tool.id}${/\.\w+$/.exec(filename)?.[0] ?? '.bin'}`),
        mime_type: tool.mimetype,
        size: sizeOf(tool.size),
        upload_file_id: tool.id,
      };
    }
    case 'remote_url':
      if (url === '') return mapper.skip(path, 'remote file without URL');
      return { ...(upload || { ...file, filename: nameInUrl(url), upload_file_id: null }), url: mapper.text(url) };
    default:
      return mapper.skip(path, `transfer method ${transfer_method}`);
  }
}

/** The source writes −1 if the size is not known. */
const sizeOf = (size: unknown): number | null => (typeof size === 'number' && size >= 0 ? size : null);

const lastSegment = (url: string): string => url.split(/[?#]/, 1)[0]?.split('/').at(-1) ?? '';

/** The name of a file in its URL; empty if the URL has none. */
function nameInUrl(url: string): string {
  if (!/^(?:https?:\/\/[^/]+)?\/./i.test(url)) return '';
  const name = lastSegment(url);
  try {
    return decodeURIComponent(name).replaceAll('\0', '');
  } catch {
    return name;
  }
}

export async function readThoughts(source: DifySource, messageIds: readonly string[]): Promise<PartsOf> {
  const thoughts = await readParts(source, ['message_agent_thoughts'], selectThoughts(source), messageIds);
  return ({ id }, mapper) => mapThoughts(mapper, thoughts.get(id));
}

const selectThoughts = (source: DifySource): string => `
  SELECT t.id, t.message_id, t.message_chain_id AS chain_id, t.position, t.thought, t.tool, t.tool_input, t.observation,
    ${columns(source, 'message_agent_thoughts', 't', ['tool_labels_str', 'message_files'])},
    ${epoch('t.created_at')} AS created_at
  FROM message_agent_thoughts t
  WHERE t.message_id = ANY($1::uuid[]) ORDER BY t.position, t.created_at, t.id`;

export const mapThoughts = (mapper: RecordMapper, rows: readonly PartRow[] | undefined): OpenObject[] =>
  mapper.parts('agent_thoughts', rows, (row, path) => {
    const files = mapper.list(row.message_files, `${path}.files`) ?? [];
    return {
      id: row.id,
      chain_id: row.chain_id,
      message_id: row.message_id,
      position: row.position,
      thought: mapper.text(row.thought),
      tool: row.tool ?? '',
      tool_labels: mapper.object(row.tool_labels_str, `${path}.tool_labels`) ?? {},
      tool_input: mapper.text(row.tool_input),
      observation: mapper.text(row.observation),
      files: files.flatMap((file, index) => asText(file) ?? mapper.skip(`${path}.files[${index}]`, 'wrong type') ?? []),
      created_at: row.created_at,
    };
  });

/**
 * Rows of `execution_extra_contents` with their rows of `human_input_forms`. The tables with the tokens of forms
 * (`human_input_form_recipients`, `human_input_form_upload_tokens`) are never read.
 */
export async function readForms(source: DifySource, messageIds: readonly string[]): Promise<PartsOf> {
  const forms = await readParts(source, ['execution_extra_contents', 'human_input_forms'], selectForms, messageIds);
  return ({ id }, mapper) => mapper.parts('extra_contents', forms.get(id), (row, path) => mapForm(mapper, row, path));
}

const selectForms = `
  SELECT e.message_id, e.workflow_run_id, e.type, f.id AS form_id, f.node_id, f.form_definition, f.rendered_content,
    (f.submitted_at IS NOT NULL OR f.status IS NOT DISTINCT FROM 'submitted') AS is_submitted,
    ${epoch('f.expiration_time')} AS expiration_time, f.selected_action_id, f.submitted_data
  FROM execution_extra_contents e LEFT JOIN human_input_forms f ON f.id = e.form_id
  WHERE e.message_id = ANY($1::uuid[]) ORDER BY e.created_at, e.id`;

/** Undefined if the content cannot be imported: then it is listed. */
export function mapForm(mapper: RecordMapper, row: OpenObject, path: string): OpenObject | undefined {
  if (row.type !== 'human_input') return mapper.skip(path, `type ${row.type}`);
  if (row.form_id === null || row.node_id === null) return mapper.skip(path, 'form missing');
  const definition = mapper.object(row.form_definition, `${path}.form_definition`);
  if (definition === undefined) return mapper.skip(path, 'form without definition');

  const node_title = asText(definition.node_title) || row.node_id;
  const form_content = mapper.text(row.rendered_content);
  const inputs = objectsIn(definition.inputs);
  const actions = objectsIn(definition.user_actions);
  const content = { workflow_run_id: row.workflow_run_id, submitted: row.is_submitted, type: 'human_input' };
  if (!row.is_submitted) {
    const form_definition = {
      form_id: row.form_id,
      node_id: row.node_id,
      node_title,
      form_content,
      inputs: inputs.map(mapInput),
      actions: actions.map((action) => ({ button_style: 'default', ...pick(action, ['id', 'title', 'button_style']) })),
      display_in_ui: definition.display_in_ui === true,
      // Anyone with the token can submit the form.
      form_token: null,
      resolved_default_values: isObject(definition.default_values) ? withoutInternals(definition.default_values) : {},
      expiration_time: row.expiration_time,
    };
    return { ...content, form_definition, form_submission_data: null };
  }

  const action_id = row.selected_action_id;
  if (isAbsent(action_id)) return mapper.skip(path, 'submitted form without action');
  const action = actions.find(({ id }) => id === action_id);
  const values = mapper.object(row.submitted_data, `${path}.submitted_data`) ?? {};
  const form_submission_data = {
    node_id: row.node_id,
    node_title,
    rendered_content: renderValues(form_content, values, inputs),
    action_id,
    action_text: asText(action?.title) ?? action_id,
  };
  return { ...content, form_definition: null, form_submission_data };
}

const objectsIn = (value: unknown): OpenObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

function mapInput(input: OpenObject): OpenObject {
  const fields = pick(input, ['type', 'output_variable_name']);
  const initial = input.default;
  if (!isObject(initial)) return { ...fields, default: null };
  const selector = Array.isArray(initial.selector) ? initial.selector : [];
  return { ...fields, default: { type: initial.type, selector, value: asText(initial.value) ?? '' } };
}

/** Replaces the placeholders of a form with the submitted values, as the source shows them. */
function renderValues(content: string, values: OpenObject, inputs: readonly OpenObject[]): string {
  const types = new Map(inputs.map((input) => [input.output_variable_name, input.type]));
  return content.replaceAll(/\{\{#\$output\.([a-zA-Z_]\w{0,29})#\}\}/g, (_placeholder, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : null;
    if (value === null) return '';
    if (types.get(name) === 'file') return '[file]';
    if (types.get(name) === 'file-list') return `[${Array.isArray(value) ? value.length : 0} files]`;
    return asText(value) ?? JSON.stringify(value);
  });
}
