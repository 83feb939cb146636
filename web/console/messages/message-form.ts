import { el, h } from '../../shared/dom.ts';
import { Time } from '../components/ui.ts';
import type { FormDefinition, FormInput, HumanInputContent } from '../state/types.ts';
import { Markdown } from './markdown.ts';
import { Truncated } from './message-parts.ts';

/** A form for the user of the app. The console shows it read-only. */
export function Form({ id, content }: { id: string; content: HumanInputContent }) {
  const { form_definition, form_submission_data, submitted } = content;
  const title = form_submission_data?.node_title ?? form_definition?.node_title ?? 'Form';
  const text = form_submission_data?.rendered_content ?? form_definition?.form_content ?? '';
  const isExpired = !submitted && form_definition !== null && form_definition.expiration_time <= Date.now() / 1000;
  const [state, look] = submitted ? ['Submitted', 'good'] : isExpired ? ['Expired', ''] : ['Waiting', 'warn'];
  return h('section', { class: 'card stack', 'aria-label': `Form: ${title}` }, [
    el('p.row', !beginsWith(text, title) && el('strong', title), h('span', { class: `badge ${look}` }, state)),
    text !== '' && h(Truncated, { id, text, draw: formatted }),
    form_submission_data !== null
      ? el('p', soft('Answered with: '), el('strong', form_submission_data.action_text))
      : form_definition !== null && h(OpenForm, { form: form_definition, isExpired }),
  ]);
}

const soft = (text: string) => el('span.soft', text);
const formatted = (text: string) => h(Markdown, { text });

/** Whether a text begins with the title, as a heading or in bold: the title is then not printed twice. */
const beginsWith = (text: string, title: string): boolean =>
  text.trimStart().split('\n', 1)[0]?.replaceAll(/[#*_]/g, '').trim() === title.trim();

function OpenForm({ form, isExpired }: { form: FormDefinition; isExpired: boolean }) {
  return [
    el('dl.values', [
      form.inputs.map((input) => [
        el('dt', input.output_variable_name),
        el('dd.as-written', firstValue(input, form) || '–'),
      ]),
    ]),
    el('p', soft('Actions: '), form.actions.map(({ title }) => title).join(' · ')),
    el('p.soft', isExpired ? 'Expired: ' : 'Expires: ', h(Time, { at: form.expiration_time })),
  ];
}

/** Initial value of the field. */
function firstValue(input: FormInput, form: FormDefinition): string {
  const resolved = form.resolved_default_values[input.output_variable_name] ?? defaultOf(input);
  return typeof resolved === 'string' ? resolved : JSON.stringify(resolved);
}

function defaultOf({ default: given }: FormInput): string {
  if (given === null) return '';
  return given.type === 'constant' ? given.value : `{{${given.selector.join('.')}}}`;
}
