import { asText, isAbsent, isObject, type OpenObject, pick, withoutInternals } from './json.ts';
import type { RecordMapper } from './record-mapper.ts';

/**
 * A row of `execution_extra_contents` with its row of `human_input_forms`. The tables with the tokens of forms
 * (`human_input_form_recipients`, `human_input_form_upload_tokens`) are never read.
 */
export type FormRow = {
  message_id: string;
  workflow_run_id: string;
  type: string;
  form_id: string | null;
  node_id: string | null;
  form_definition: string | null;
  rendered_content: string | null;
  is_submitted: boolean;
  expiration_time: number;
  selected_action_id: string | null;
  submitted_data: string | null;
};

/** Undefined if the content cannot be imported: then it is listed. */
export function mapForm(mapper: RecordMapper, row: FormRow, path: string): OpenObject | undefined {
  const skip = (reason: string): undefined => mapper.skip(path, reason) as undefined;
  if (row.type !== 'human_input') return skip(`type ${row.type}`);
  if (row.form_id === null || row.node_id === null) return skip('form missing');
  const definition = mapper.object(row.form_definition, `${path}.form_definition`);
  if (definition === undefined) return skip('form without definition');

  const node_title = asText(definition.node_title) || row.node_id;
  const form_content = mapper.text(row.rendered_content ?? '');
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
  if (isAbsent(action_id)) return skip('submitted form without action');
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
