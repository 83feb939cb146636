import { asText, isAbsent, isObject, type OpenObject, pick, withoutInternals } from '../map/json.ts';
import type { PartsOf, RecordMapper } from '../map/record-mapper.ts';
import { type DifySource, epoch } from '../source.ts';
import { readParts } from './selection.ts';

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
