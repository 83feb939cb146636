import { h } from '../../shared/dom.ts';
import type { FormDefinition, FormInput, HumanInputContent } from '../parts/types.ts';
import { Time } from '../parts/ui.ts';
import { Markdown } from './markdown.ts';
import { Truncated } from './truncated.ts';

/** A form that a person was, or is, to fill in. It is shown, not filled in here. */
export function Form({ id, content }: { id: string; content: HumanInputContent }) {
  const { form_definition, form_submission_data, submitted } = content;
  const title = form_submission_data?.node_title ?? form_definition?.node_title ?? 'Form';
  return h(
    'section',
    { class: 'form', 'aria-label': `Form: ${title}` },
    h(
      'p',
      { class: 'row' },
      h('strong', null, title),
      h('span', { class: `badge ${submitted ? 'good' : 'warn'}` }, submitted ? 'submitted' : 'waiting'),
    ),
    form_submission_data !== null
      ? [
          h(Truncated, { id, text: form_submission_data.rendered_content, draw: formatted }),
          h(
            'p',
            null,
            h('span', { class: 'soft' }, 'Answered with: '),
            h('strong', null, form_submission_data.action_text),
          ),
        ]
      : form_definition !== null && h(Waiting, { id, form: form_definition }),
  );
}

const formatted = (text: string) => h(Markdown, { text });

function Waiting({ id, form }: { id: string; form: FormDefinition }) {
  return [
    h(Truncated, { id, text: form.form_content, draw: formatted }),
    form.inputs.map((input) => h(Field, { key: input.output_variable_name, input, form })),
    h(
      'p',
      { class: 'row' },
      form.actions.map(({ id, title, button_style }) =>
        h(
          'button',
          { key: id, type: 'button', disabled: true, class: button_style === 'primary' ? 'primary' : '' },
          title,
        ),
      ),
    ),
    h('p', { class: 'soft' }, 'Expires: ', h(Time, { at: form.expiration_time })),
  ];
}

function Field({ input, form }: { input: FormInput; form: FormDefinition }) {
  const { type, output_variable_name: name } = input;
  const resolved = form.resolved_default_values[name] ?? defaultOf(input);
  const value = typeof resolved === 'string' ? resolved : JSON.stringify(resolved);
  const field = {
    paragraph: () => h('textarea', { disabled: true, rows: 2, value }),
    select: () => h('select', { disabled: true }, h('option', null, value)),
    file: () => h('input', { type: 'file', disabled: true }),
    'file-list': () => h('input', { type: 'file', multiple: true, disabled: true }),
  }[type];
  return h('label', null, name, field());
}

function defaultOf({ default: given }: FormInput): string {
  if (given === null) return '';
  return given.type === 'constant' ? given.value : `{{${given.selector.join('.')}}}`;
}
