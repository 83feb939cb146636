import { Terms } from '../../shared/controls.tsx';
import { Time } from '../components/ui.tsx';
import type { FormDefinition, FormInput, HumanInputContent } from '../state/types.ts';
import { formatted, Truncated, textOf } from './message-parts.tsx';

/** A form for the user of the app. The console shows it read-only. */
export function Form({ id, content }: { id: string; content: HumanInputContent }) {
  const { form_definition, form_submission_data, submitted } = content;
  const title = form_submission_data?.node_title ?? form_definition?.node_title ?? 'Form';
  const text = form_submission_data?.rendered_content ?? form_definition?.form_content ?? '';
  const isExpired = !submitted && form_definition !== null && form_definition.expiration_time <= Date.now() / 1000;
  const [state, look] = submitted ? ['Submitted', 'good'] : isExpired ? ['Expired', ''] : ['Waiting', 'warn'];
  return (
    <section class="card stack" aria-label={`Form: ${title}`}>
      <p class="row">
        {!beginsWith(text, title) && <strong>{title}</strong>}
        <span class={`badge ${look}`}>{state}</span>
      </p>
      {text !== '' && <Truncated id={id} text={text} draw={formatted} />}
      {form_submission_data !== null ? (
        <p>
          <span class="soft">Answered with: </span>
          <strong>{form_submission_data.action_text}</strong>
        </p>
      ) : (
        form_definition !== null && <OpenForm form={form_definition} isExpired={isExpired} />
      )}
    </section>
  );
}

/** Whether a text begins with the title, as a heading or in bold: the title is then not printed twice. */
const beginsWith = (text: string, title: string): boolean =>
  text.trimStart().split('\n', 1)[0]?.replaceAll(/[#*_]/g, '').trim() === title.trim();

function OpenForm({ form, isExpired }: { form: FormDefinition; isExpired: boolean }) {
  return (
    <>
      <Terms
        rows={form.inputs.map((input) => [input.output_variable_name, firstValue(input, form) || '–', 'as-written'])}
      />
      <p>
        <span class="soft">Actions: </span>
        {form.actions.map(({ title }) => title).join(' · ')}
      </p>
      <p class="soft">
        {isExpired ? 'Expired: ' : 'Expires: '}
        <Time at={form.expiration_time} />
      </p>
    </>
  );
}

/** Initial value of the field. */
const firstValue = (input: FormInput, form: FormDefinition): string =>
  textOf(form.resolved_default_values[input.output_variable_name] ?? defaultOf(input));

function defaultOf({ default: given }: FormInput): string {
  if (given === null) return '';
  return given.type === 'constant' ? given.value : `{{${given.selector.join('.')}}}`;
}
