/** A message as the service gives it; what each field means is in the OpenAPI document. */
export type Message = {
  id: string;
  parent_message_id: string | null;
  inputs: Record<string, unknown>;
  query: string;
  answer: string;
  status: 'normal' | 'error';
  error: string | null;
  message_files: MessageFile[];
  feedback: { rating: 'like' | 'dislike' } | null;
  retriever_resources: RetrieverResource[];
  agent_thoughts: AgentThought[];
  created_at: number;
  extra_contents: HumanInputContent[];
  message_tokens: number;
  answer_tokens: number;
  total_tokens: number;
  provider_response_latency: number;
  total_price: string | null;
  currency: string | null;
};

export type MessageFile = {
  id: string;
  filename: string;
  type: string;
  url: string | null;
  mime_type: string | null;
  size: number | null;
  transfer_method: string;
  belongs_to: 'user' | 'assistant' | null;
};

export type RetrieverResource = {
  id: string;
  position: number;
  dataset_name: string;
  document_name: string;
  data_source_type: string;
  segment_id: string;
  score: number;
  hit_count: number;
  word_count: number;
  segment_position: number;
  content: string;
  summary: string | null;
};

export type AgentThought = {
  id: string;
  position: number;
  thought: string;
  tool: string;
  tool_labels: Record<string, unknown> | null;
  tool_input: string;
  observation: string;
  files: string[];
};

export type HumanInputContent = {
  submitted: boolean;
  form_definition: FormDefinition | null;
  form_submission_data: { node_title: string; rendered_content: string; action_text: string } | null;
};

export type FormDefinition = {
  node_title: string;
  form_content: string;
  inputs: FormInput[];
  actions: { id: string; title: string; button_style: string }[];
  resolved_default_values: Record<string, unknown>;
  expiration_time: number;
};

export type FormInput = {
  type: 'paragraph' | 'select' | 'file' | 'file-list';
  output_variable_name: string;
  default: { type: 'variable' | 'constant'; selector: string[]; value: string } | null;
};
