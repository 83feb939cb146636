import { randomUUID } from 'node:crypto';
import { message } from './harness.ts';

const formattedText = [
  '## Two things',
  'Some **bold** and *soft* and ***both*** and ~~gone~~, `code`,',
  'snake_case_name and 2 * 3 * 4 and \\*not this\\*.',
  '',
  '- first',
  '  1. inner',
  '  2. inner two',
  '- second',
  '',
  '```ts',
  'if (a < b) {',
  '  run();',
  '}',
  '```',
  '',
  '> quoted',
  '> > said before',
  '',
  '| part | price |',
  '|------|------:|',
  '| gasket | 8.50 |',
  '| a\\|b | |',
  '',
  '---',
  '[a link](https://example.com/a_(b) "title") and https://example.com/bare. <ann@example.com>',
  '![a cat](https://example.com/cat.png)',
].join('\n');

const hostileText = [
  '<script>alert(1)</script> <img src=x onerror=alert(1)>',
  '[click](javascript:alert(2)) [again](JaVaScRiPt:alert(2)) [data](data:text/html,<script>alert(3)</script>)',
  '![x](javascript:alert(4)) <javascript:alert(5)> [odd](java\tscript:alert(6)) [rel](//\u0000) [](vbscript:x)',
].join('\n\n');

/** Messages that together show every part of a message, and one with hostile content. */
export function richMessages(conversation: string) {
  const id = randomUUID();
  const full = {
    ...message(conversation, 2_000),
    id,
    parent_message_id: randomUUID(),
    query: 'Which screw?\nAnd why?',
    answer: 'The **orange** one.',
    inputs: { locale: 'en-GB', order: { quantity: 1 } },
    message_files: [file('counter.jpg', 'image/jpeg', 1_843_204, 'user'), file('chart.png', null, null, 'assistant')],
    feedback: { rating: 'like' },
    feedback_content: 'It helped.',
    retriever_resources: [citation(id)],
    agent_thoughts: [
      thought(id, 1, 'I look it up.', 'knowledge_search', '{"query":"screw"}', 'one section'),
      thought(id, 2, 'I have it.', '', '{}', ''),
    ],
    message_tokens: 1_000,
    answer_tokens: 234,
    provider_response_latency: 1.25,
    total_price: '0.0012890',
    currency: 'USD',
  };
  const failed = message(conversation, 2_001, {
    query: 'Still there?',
    answer: '',
    status: 'error',
    error: 'The model did not answer.',
    feedback: { rating: 'dislike' },
  });
  const forms = message(conversation, 2_002, { extra_contents: [pendingForm(), submittedForm()] });
  const formatted = message(conversation, 2_003, { answer: formattedText });
  const hostile = message(conversation, 2_004, { query: hostileText, answer: hostileText.replaceAll('\u0000', '') });
  hostile.query = hostile.query.replaceAll('\u0000', '');
  const huge = message(conversation, 1_999, { answer: `${'A sentence of many. '.repeat(5_000)}The end.` });
  return { full, failed, formatted, hostile, huge, records: [huge, full, failed, forms, formatted, hostile] };
}

function file(filename: string, mime_type: string | null, size: number | null, belongs_to: string) {
  const url = `https://example.com/${filename}`;
  const transfer_method = 'remote_url';
  return { id: randomUUID(), filename, type: 'image', url, mime_type, size, transfer_method, belongs_to };
}

export function citation(message_id: string) {
  return {
    id: randomUUID(),
    message_id,
    position: 1,
    dataset_id: randomUUID(),
    dataset_name: 'Handbook',
    document_id: randomUUID(),
    document_name: 'guide.md',
    data_source_type: 'upload_file',
    segment_id: randomUUID(),
    score: 0.948,
    hit_count: 8,
    word_count: 70,
    segment_position: 1,
    index_node_hash: 'hash',
    content: 'Remove the orange screw.',
    summary: 'Transport screw.',
    created_at: 2_000,
  };
}

function thought(
  message_id: string,
  position: number,
  text: string,
  tool: string,
  tool_input: string,
  observation: string,
) {
  const tool_labels = tool === '' ? null : { [tool]: { en_US: 'Knowledge search' } };
  const fields = { thought: text, tool, tool_labels, tool_input, observation };
  return {
    id: randomUUID(),
    chain_id: null,
    message_id,
    position,
    ...fields,
    files: [],
    created_at: 1_997 + 3 * position,
  };
}

export function pendingForm() {
  const input = (type: string, output_variable_name: string) => ({ type, output_variable_name, default: null });
  return {
    workflow_run_id: 'run',
    submitted: false,
    type: 'human_input',
    form_definition: {
      form_id: 'form',
      node_id: 'visit',
      node_title: 'Book a visit',
      form_content: 'Tell us **what** happened.',
      inputs: [
        input('paragraph', 'problem'),
        input('select', 'slot'),
        input('file', 'note'),
        input('file-list', 'photos'),
      ],
      actions: [
        { id: 'book', title: 'Book', button_style: 'primary' },
        { id: 'later', title: 'Later', button_style: 'ghost' },
      ],
      display_in_ui: true,
      form_token: null,
      resolved_default_values: { problem: 'five red blinks', slot: 'Friday' },
      expiration_time: 3_000,
    },
    form_submission_data: null,
  };
}

function submittedForm() {
  return {
    workflow_run_id: 'run',
    submitted: true,
    type: 'human_input',
    form_definition: null,
    form_submission_data: {
      node_id: 'order',
      node_title: 'Order',
      rendered_content: '**Part:** one gasket',
      action_id: 'confirm',
      action_text: 'Confirm',
    },
  };
}
