import type { Static } from 'typebox';
import { limits } from './limits.ts';
import {
  choice,
  decimal,
  epochSeconds,
  flag,
  integer,
  list,
  named,
  nullable,
  number,
  openObject,
  optional,
  text,
  uuid,
} from './primitives.ts';
import { Type } from './type.ts';

export const pageOrders = ['newest_first', 'oldest_first'] as const;
export type PageOrder = (typeof pageOrders)[number];

export const MessageFile = named('MessageFile', 'A file of a message.', {
  id: uuid('File ID.'),
  filename: text('Original filename.'),
  type: text('File type, for example `image`.'),
  url: nullable(text('Preview URL.')),
  mime_type: nullable(text('MIME type.')),
  size: nullable(integer('Size in bytes.')),
  transfer_method: choice(
    ['remote_url', 'local_file', 'tool_file'],
    '`remote_url` (URL-based), `local_file` (uploaded), `tool_file` (tool-generated).',
  ),
  belongs_to: nullable(
    choice(['user', 'assistant'], '`user` for user-uploaded, `assistant` for assistant-generated files.'),
  ),
  upload_file_id: nullable(uuid('Upload file ID when transferred via `local_file`.')),
});

export const Feedback = named('Feedback', 'User feedback.', {
  rating: choice(['like', 'dislike'], '`like` (positive) or `dislike` (negative).'),
});

export const RetrieverResource = named('RetrieverResource', 'A text of a knowledge base that an answer cites.', {
  id: uuid('Resource ID.'),
  message_id: uuid('Message the resource belongs to.'),
  position: integer('Position in the list.'),
  dataset_id: uuid('Knowledge base ID.'),
  dataset_name: text('Knowledge base name.'),
  document_id: uuid('Document ID.'),
  document_name: text('Document name.'),
  data_source_type: text('Type of data source.'),
  segment_id: uuid('Chunk ID within the document.'),
  score: number('float', 'Similarity score.'),
  hit_count: integer('Times the chunk was hit.'),
  word_count: integer('Words in the chunk.'),
  segment_position: integer('Position of the chunk in the document.'),
  index_node_hash: text('Hash of the index node.'),
  content: text('Content snippet.'),
  summary: nullable(text('Summary of the chunk content.')),
  created_at: epochSeconds('Creation time.'),
});

export const AgentThought = named('AgentThought', 'A step of an agent.', {
  id: uuid('Thought ID.'),
  chain_id: nullable(text('Chain ID.')),
  message_id: uuid('Message the thought belongs to.'),
  position: integer('Position of the thought.'),
  thought: text('Thought of the model.'),
  tool: text('Tools called, separated by `;`.'),
  tool_labels: nullable(openObject('Labels for tools used.')),
  tool_input: text('Tool input, in JSON format.'),
  observation: text('Response from tool calls.'),
  files: list(Type.String(), 'File IDs related to the thought.'),
  created_at: epochSeconds('Creation time.'),
});

export const FormInputDefault = named('FormInputDefault', 'Default value of a form input.', {
  type: choice(['variable', 'constant'], '`variable` for workflow variables, `constant` for static values.'),
  selector: Type.Array(Type.String(), {
    description: 'Variable selector path when type is `variable`.',
    default: [],
  }),
  value: text('Static value when type is `constant`.', { default: '' }),
});

export const FormInput = named('FormInput', 'An input field of a form.', {
  type: choice(
    ['paragraph', 'select', 'file', 'file-list'],
    '`paragraph` multi-line text, `select` single choice, `file` single upload, `file-list` multiple uploads.',
  ),
  output_variable_name: text('Variable where the value is stored.'),
  default: nullable(FormInputDefault),
});

export const UserAction = named('UserAction', 'A button of a form.', {
  id: text('Action ID.'),
  title: text('Button text.'),
  button_style: choice(['primary', 'default', 'accent', 'ghost'], 'Style of the button.'),
});

export const FormDefinition = named('FormDefinition', 'Null when the content represents a submission response.', {
  form_id: text('Unique form identifier.'),
  node_id: text('Human Input node that generated the form.'),
  node_title: text('Title of that node.'),
  form_content: text('Markdown or text shown with the form.'),
  inputs: list(FormInput, 'Input fields.'),
  actions: list(UserAction, 'Action buttons.'),
  display_in_ui: flag('Whether to display the form in the UI.'),
  form_token: nullable(text('Token for form submission authentication.')),
  resolved_default_values: openObject('Resolved defaults, keyed by output variable name.'),
  expiration_time: integer('Unix timestamp when the form expires.'),
});

export const FormSubmissionData = named('FormSubmissionData', 'Null when the form has not been submitted yet.', {
  node_id: text('Human Input node of the form.'),
  node_title: text('Title of that node.'),
  rendered_content: text('Form content as submitted.'),
  action_id: text('ID of the clicked action button.'),
  action_text: text('Display text of the clicked button.'),
});

export const HumanInputContent = named('HumanInputContent', 'A form, or its submission.', {
  workflow_run_id: text('Workflow run the content belongs to.'),
  submitted: flag('Whether the form has been submitted.'),
  type: text('`human_input`.'),
  form_definition: nullable(FormDefinition),
  form_submission_data: nullable(FormSubmissionData),
});

export const Message = named('Message', 'A question of a user with its answer.', {
  id: uuid('Message ID.'),
  conversation_id: uuid('Conversation ID.'),
  parent_message_id: nullable(uuid('Parent message for threaded conversations.')),
  inputs: openObject('Input variables for this message.'),
  query: text('User query text.'),
  answer: text('Assistant answer text.'),
  status: choice(['normal', 'error'], '`normal` for successful messages; `error` when generation failed.'),
  error: nullable(text('Error message when status is `error`.')),
  message_files: list(MessageFile, 'Files attached to the message.'),
  feedback: nullable(Feedback),
  retriever_resources: list(RetrieverResource, 'Resources used for the message.'),
  agent_thoughts: list(AgentThought, 'Agent thought steps.'),
  created_at: epochSeconds('Creation time.'),
  extra_contents: list(HumanInputContent, 'Additional execution content, such as human input form data.'),
  message_tokens: integer('Tokens in the input message.'),
  answer_tokens: integer('Tokens in the generated answer.'),
  total_tokens: integer('Sum of message_tokens and answer_tokens.'),
  provider_response_latency: number('double', 'Model provider latency in seconds.'),
  total_price: nullable(decimal('Total price of the tokens; null when pricing is unavailable.')),
  currency: nullable(text('Currency of total_price; null when pricing is unavailable.')),
});

export type Message = Static<typeof Message>;

export const MessagePage = named('MessagePage', 'A page of messages.', {
  limit: integer('Number of items per page.'),
  has_more: flag('Whether more messages exist.'),
  data: list(Message, 'The messages.'),
});
export type MessagePage = Static<typeof MessagePage>;

export const MessageQuery = Type.Object({
  conversation_id: Type.String({ minLength: 1, description: 'Conversation to read.' }),
  user: optional.text('End-user identifier defined by the calling app.'),
  first_id: optional.text('Cursor: returns only messages older than the message with this ID.'),
  limit: optional.limit('Number of messages returned per request.', limits.pageMessagesMax, limits.pageMessagesDefault),
  page_order: optional.choice(
    pageOrders,
    'Order in the page. Both orders return the same messages. Default: the setting PAGE_ORDER.',
  ),
});
