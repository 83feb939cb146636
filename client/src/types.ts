// Written by `npm run types` from openapi.json.

/** List Conversation Messages: query. */
export type GetConversationHistoryQuery = {
  /** Conversation to read. */
  conversation_id: string;
  /** End-user identifier defined by the calling app. */
  user?: string | undefined;
  /** Cursor: returns only messages older than the message with this ID. */
  first_id?: string | undefined;
  /** Number of messages returned per request. */
  limit?: number | undefined;
  /** Order in the page. Both orders return the same messages. Default: the setting PAGE_ORDER. */
  page_order?: 'newest_first' | 'oldest_first' | undefined;
};

/** List Conversations: query. */
export type GetConversationsQuery = {
  /** End-user identifier. If present, only conversations of this user exist. */
  user?: string | undefined;
  /** Earliest creation time. Unix epoch seconds. */
  created_after?: number | undefined;
  /** Latest creation time, exclusive. Unix epoch seconds. */
  created_before?: number | undefined;
  /** Cursor: returns only conversations after the conversation with this ID. */
  last_id?: string | undefined;
  /** Another name for `last_id`, which takes precedence. */
  first_id?: string | undefined;
  /** The cursor in the `Link` header of an earlier page in the same order. If present, `last_id` is ignored. */
  cursor?: string | undefined;
  /** Number of conversations returned per request. */
  limit?: number | undefined;
  /** Sort order, then by id. `-` means descending. */
  sort_by?: 'created_at' | '-created_at' | 'updated_at' | '-updated_at' | undefined;
};

/** List App Feedbacks: query. */
export type GetAppFeedbacksQuery = {
  /** Number of the page. */
  page?: number | undefined;
  /** Number of entries per page. */
  limit?: number | undefined;
};

/** Search Messages of a User: query. */
export type SearchUserMessagesQuery = {
  /** Words that must all occur, the last one as the beginning of a word; `"…"` is a phrase. Case and accents are ignored. Absent: everything. */
  query?: string | undefined;
  /** End-user identifier. Only messages of this user are searched. */
  user: string;
  /** Number of messages returned per request. */
  limit?: number | undefined;
  /** Start of the page: `cursor` of the previous page. */
  cursor?: string | undefined;
};

/** List Knowledge Bases: query. */
export type ListKnowledgeBasesQuery = {
  /** Number of the page. */
  page?: number | undefined;
  /** Number of items per page. */
  limit?: number | undefined;
  /** Only items whose name contains this. A–Z match in any case. */
  keyword?: string | undefined;
  /** Only knowledge bases with all of these tags. */
  tag_ids?: string[] | undefined;
};

/** List Documents: query. */
export type ListKnowledgeDocumentsQuery = {
  /** Number of the page. */
  page?: number | undefined;
  /** Number of items per page. */
  limit?: number | undefined;
  /** Only items whose name contains this. A–Z match in any case. */
  keyword?: string | undefined;
  /** Only this `display_status`. */
  status?: 'available' | 'disabled' | 'archived' | 'indexing' | 'queuing' | 'paused' | 'error' | undefined;
};

/** Get a Document: query. */
export type GetKnowledgeDocumentQuery = {
  /** `all`, `only` or `without`: which fields are returned. */
  metadata?: 'all' | 'only' | 'without' | undefined;
};

/** List Segments: query. */
export type ListKnowledgeSegmentsQuery = {
  /** Number of the page. */
  page?: number | undefined;
  /** Number of items per page. */
  limit?: number | undefined;
  /** Only items whose text contains this. A–Z match in any case. */
  keyword?: string | undefined;
  /** Only segments with one of these statuses. */
  status?: string[] | undefined;
};

/** List Child Chunks: query. */
export type ListKnowledgeChildChunksQuery = {
  /** Number of the page. */
  page?: number | undefined;
  /** Number of items per page. */
  limit?: number | undefined;
  /** Only items whose text contains this. A–Z match in any case. */
  keyword?: string | undefined;
};

/** Export records: query. */
export type ExportRecordsQuery = {
  /** Only this app. */
  app_id?: string | undefined;
  /** Only conversations of this end user; the exact name. */
  user?: string | undefined;
  /** Only this conversation. */
  conversation_id?: string | undefined;
  /** Earliest creation time of a message. Unix epoch seconds. */
  from?: number | undefined;
  /** Latest creation time of a message, exclusive. Unix epoch seconds. */
  to?: number | undefined;
  /** Only records of these kinds: a comma-separated list. With another filter only `workspace`, `app`, `conversation` and `message`. */
  kinds?: string | undefined;
};

/** List end users: query. */
export type ListUsersQuery = {
  /** Number of rows returned per request. */
  limit?: number | undefined;
  /** Start of the page: `next_cursor` of the previous page. */
  cursor?: string | undefined;
  /** Only this app. */
  app_id?: string | undefined;
  /** Part of the name. A–Z match in any case, other characters exactly. */
  q?: string | undefined;
  /** Sort order, then by name. `-` means descending. `app_ids` sorts by the number of apps. */
  sort?:
    | 'user'
    | '-user'
    | 'app_ids'
    | '-app_ids'
    | 'conversations'
    | '-conversations'
    | 'messages'
    | '-messages'
    | 'disliked'
    | '-disliked'
    | 'failed'
    | '-failed'
    | 'total_price'
    | '-total_price'
    | 'currency'
    | '-currency'
    | 'first_at'
    | '-first_at'
    | 'last_at'
    | '-last_at'
    | undefined;
};

/** Follow changes of records: query. */
export type ListChangesQuery = {
  /** Cursor of the last processed entry. Absent: from the start. `now`: only later changes. */
  after?: string | undefined;
  /** Maximum number of entries per response. */
  limit?: number | undefined;
  /** Seconds to wait for an entry before an empty response. */
  wait?: number | undefined;
  /** Comma-separated kinds: `workspace`, `app`, `dataset`, `model_provider`, `document`, `segment`, `child_chunk`, `conversation`, `message`. Absent: all. */
  kinds?: string | undefined;
  /** Only this app, its conversations and messages. */
  app_id?: string | undefined;
  /** Only this dataset and what is in it. */
  dataset_id?: string | undefined;
  /** Whether entries have their records. */
  include?: 'record' | 'none' | undefined;
};

export type AgentThought = {
  /** Thought ID. */
  id: string;
  chain_id: string | null;
  /** Message the thought belongs to. */
  message_id: string;
  /** Position of the thought. */
  position: number;
  /** Thought of the model. */
  thought: string;
  /** Tools called, separated by `;`. */
  tool: string;
  /** Labels for tools used. */
  tool_labels: Record<string, unknown> | null;
  /** Tool input, in JSON format. */
  tool_input: string;
  /** Response from tool calls. */
  observation: string;
  /** File IDs related to the thought. */
  files: string[];
  /** Creation time. Unix epoch seconds. */
  created_at: number;
};

/** Feedback of a message. */
export type AppFeedback = {
  /** ID of the feedback, always the same for a message. */
  id: string;
  app_id: string;
  conversation_id: string;
  message_id: string;
  /** `like` (positive) or `dislike` (negative). */
  rating: 'like' | 'dislike';
  /** Text of the feedback. */
  content: string | null;
  /** Always `user`. */
  from_source: 'user';
  /** End user of the conversation. */
  from_end_user_id: string | null;
  /** Always null. */
  from_account_id: null;
  /** Time of the feedback, in UTC. */
  created_at: string;
  /** The same time. */
  updated_at: string;
};

/** A page of the feedback of an app. */
export type AppFeedbacks = {
  /** Newest first; those of one second by message ID. */
  data: AppFeedback[];
};

/** The app of the key. */
export type AppInfo = {
  /** Name of the app. */
  name: string;
  /** Description of the app. */
  description: string | null;
  /** Always empty. */
  tags: string[];
  /** App mode, for example `chat`. */
  mode: string;
  /** Always null. */
  author_name: string | null;
};

/** Settings of the app for front ends. */
export type AppParameters = {
  /** Default: `null`. */
  opening_statement: unknown;
  /** Default: `[]`. */
  suggested_questions: unknown;
  /** Default: `{"enabled":false}`. */
  suggested_questions_after_answer: unknown;
  /** Default: `{"enabled":false}`. */
  speech_to_text: unknown;
  /** Default: `{"enabled":false}`. */
  text_to_speech: unknown;
  /** Default: `{"enabled":false}`. */
  annotation_reply: unknown;
  /** Default: `{"enabled":false}`. */
  more_like_this: unknown;
  /** Default: `{"enabled":true}`. */
  retriever_resource: unknown;
  /** Default: `[]`. */
  user_input_form: unknown;
  /** Default: `{"enabled":false,"type":"","configs":[]}`. */
  sensitive_word_avoidance: unknown;
  /** Default: `{"image":{"enabled":false,"number_limits":3,"detail":"high","transfer_methods":["remote_url","local_file"]}}`. */
  file_upload: unknown;
  /** Default: `{"image_file_size_limit":10,"video_file_size_limit":100,"audio_file_size_limit":50,"file_size_limit":15,"workflow_file_upload_limit":10}`. */
  system_parameters: unknown;
};

/** A page of the change feed. */
export type ChangePage = {
  /** Changed records. */
  data: Change[];
  /** Whether more entries may follow at once. */
  has_more: boolean;
  /** Send it as `after` with the next request. Store it together with the effect of these entries. */
  cursor: string;
};

export type ChildChunk = {
  /** Child chunk ID. */
  id: string;
  /** Parent chunk ID. */
  segment_id: string;
  /** Child chunk text. */
  content: string;
  position: number;
  word_count: number;
  /** Type of child chunk: `automatic` after splitting, `customized` after an edit. */
  type: string;
  /** Creation time. Unix epoch seconds. */
  created_at: number;
  /** Time of the last change. Unix epoch seconds. */
  updated_at: number;
};

/** A page of conversations. */
export type ConversationPage = {
  /** Number of items per page. */
  limit: number;
  /** Whether more conversations follow. */
  has_more: boolean;
  /** The conversations. */
  data: ListedConversation[];
};

/** The user of the conversation. */
export type Deletion = {
  /** End-user identifier. If present, only conversations of this user exist. */
  user?: string | null | undefined;
};

/** Every error response has this shape. */
export type ErrorResponse = {
  /** The HTTP status. */
  status: number;
  /** Error code, for programs. */
  code:
    | 'invalid_param'
    | 'invalid_metadata'
    | 'bad_request'
    | 'not_chat_app'
    | 'unauthorized'
    | 'forbidden'
    | 'not_found'
    | 'method_not_allowed'
    | 'request_timeout'
    | 'cursor_gone'
    | 'precondition_failed'
    | 'payload_too_large'
    | 'unsupported_media_type'
    | 'too_many_requests'
    | 'headers_too_large'
    | 'internal_server_error'
    | 'not_implemented'
    | 'bad_gateway'
    | 'service_unavailable'
    | 'gateway_timeout';
  /** Error message, for people. */
  message: string;
};

export type Feedback = {
  /** `like` (positive) or `dislike` (negative). */
  rating: 'like' | 'dislike';
};

export type FormDefinition = {
  /** Unique form identifier. */
  form_id: string;
  /** Human Input node that generated the form. */
  node_id: string;
  /** Title of that node. */
  node_title: string;
  /** Markdown or text shown with the form. */
  form_content: string;
  /** Input fields. */
  inputs: FormInput[];
  /** Action buttons. */
  actions: UserAction[];
  /** Whether to display the form in the UI. */
  display_in_ui: boolean;
  /** Token for form submission authentication. */
  form_token: string | null;
  /** Resolved defaults, keyed by output variable name. */
  resolved_default_values: Record<string, unknown>;
  /** Unix timestamp when the form expires. */
  expiration_time: number;
};

export type FormInput = {
  /** `paragraph` multi-line text, `select` single choice, `file` single upload, `file-list` multiple uploads. */
  type: 'paragraph' | 'select' | 'file' | 'file-list';
  /** Variable where the value is stored. */
  output_variable_name: string;
  /** Default value of a form input. */
  default: FormInputDefault | null;
};

export type FormInputDefault = {
  /** `variable` for workflow variables, `constant` for static values. */
  type: 'variable' | 'constant';
  /** Variable selector path when type is `variable`. */
  selector: string[];
  /** Static value when type is `constant`. */
  value: string;
};

export type FormSubmissionData = {
  /** Human Input node of the form. */
  node_id: string;
  /** Title of that node. */
  node_title: string;
  /** Form content as submitted. */
  rendered_content: string;
  /** ID of the clicked action button. */
  action_id: string;
  /** Display text of the clicked button. */
  action_text: string;
};

/** A message of the user. */
export type FoundMessage = {
  message_id: string;
  conversation_id: string;
  /** Creation time of the message. Unix epoch seconds. */
  created_at: number;
  /** The text that the snippet is from. */
  field: 'query' | 'answer' | 'error' | 'file' | 'form';
  /** The text around the first match, in parts; without a match, its beginning. */
  snippet: SnippetPart[];
};

export type HumanInputContent = {
  /** Workflow run the content belongs to. */
  workflow_run_id: string;
  /** Whether the form has been submitted. */
  submitted: boolean;
  /** `human_input`. */
  type: string;
  /** Null when the content represents a submission response. */
  form_definition: FormDefinition | null;
  /** Null when the form has not been submitted yet. */
  form_submission_data: FormSubmissionData | null;
};

/** A knowledge base. */
export type KnowledgeBase = {
  /** Knowledge base ID. */
  id: string;
  name: string;
  description: string | null;
  provider: string;
  /** Users who may use it. */
  permission: string;
  /** Type of data source. */
  data_source_type: string | null;
  indexing_technique: string | null;
  /** Number of apps that use it. */
  app_count: number;
  /** Number of documents. */
  document_count: number;
  /** Number of words in its documents. */
  word_count: number;
  /** Id of the creator; the workspace if that is not known. */
  created_by: string | null;
  /** Author. */
  author_name: string | null;
  /** Creation time. Unix epoch seconds. */
  created_at: number;
  /** Id of the user of the last change. */
  updated_by: string | null;
  /** Time of the last change. Unix epoch seconds. */
  updated_at: number;
  embedding_model: string | null;
  /** Provider of the embedding model. */
  embedding_model_provider: string | null;
  /** Whether the embedding model is available. */
  embedding_available: boolean;
  retrieval_model_dict: {
    search_method: string;
    /** Whether results are reranked. */
    reranking_enable: boolean;
    reranking_mode: string | null;
    reranking_model: {
      /** Provider of the reranking model. */
      reranking_provider_name: string | null;
      /** Reranking model. */
      reranking_model_name: string | null;
    };
    /** Weights of a hybrid search. */
    weights: Record<string, unknown> | null;
    /** Number of results. */
    top_k: number;
    /** Whether results need a minimum score. */
    score_threshold_enabled: boolean;
    /** Minimum score. */
    score_threshold: number | null;
  };
  summary_index_setting: {
    /** Whether summaries are created. */
    enable: boolean;
    /** Model. */
    model_name: string | null;
    /** Provider of the model. */
    model_provider_name: string | null;
    /** Prompt. */
    summary_prompt: string | null;
  };
  tags: Tag[];
  /** Splitting method of its documents. */
  doc_form: string | null;
  external_knowledge_info: {
    /** ID. */
    external_knowledge_id: string | null;
    /** ID of the API. */
    external_knowledge_api_id: string | null;
    /** Name of the API. */
    external_knowledge_api_name: string | null;
    /** Address of the API. */
    external_knowledge_api_endpoint: string | null;
  };
  /** Settings of external retrieval. */
  external_retrieval_model: Record<string, unknown> | null;
  /** Metadata fields. */
  doc_metadata: {
    /** Field ID. */
    id: string;
    name: string;
    type: string;
  }[];
  /** Whether built-in metadata fields are used. */
  built_in_field_enabled: boolean;
  /** Pipeline. */
  pipeline_id: string | null;
  runtime_mode: string | null;
  chunk_structure: string | null;
  icon_info: {
    /** Type of icon. */
    icon_type: string | null;
    icon: string | null;
    /** Background. */
    icon_background: string | null;
    /** Address. */
    icon_url: string | null;
  };
  /** Whether its pipeline is published. */
  is_published: boolean;
  /** Number of documents. */
  total_documents: number;
  /** Number of documents whose `display_status` is `available`. */
  total_available_documents: number;
  /** Whether the API may use it. */
  enable_api: boolean;
  /** Whether it has images. */
  is_multimodal: boolean;
  maintainer: string | null;
};

/** A document in a list. */
export type KnowledgeDocument = {
  /** Document ID. */
  id: string;
  /** Position in the knowledge base. */
  position: number;
  /** Type of data source. */
  data_source_type: string | null;
  /** Data source. */
  data_source_info: Record<string, unknown>;
  /** Details of the data source. */
  data_source_detail_dict: Record<string, unknown> | null;
  /** Processing rule. */
  dataset_process_rule_id: string | null;
  name: string;
  /** Channel of its creation. */
  created_from: string | null;
  /** Id of the creator; the workspace if that is not known. */
  created_by: string;
  /** Creation time. Unix epoch seconds. */
  created_at: number;
  /** Number of tokens. */
  tokens: number | null;
  /** State of its indexing. */
  indexing_status: string;
  error: string | null;
  /** Whether it is enabled. */
  enabled: boolean;
  /** When it was disabled. Unix epoch seconds. */
  disabled_at: number | null;
  /** Id of the user who disabled it. */
  disabled_by: string | null;
  /** Whether it is archived. */
  archived: boolean;
  /** Status: `available`, `disabled`, `archived`, `indexing`, `queuing`, `paused`, `error`. */
  display_status: string;
  /** Number of words in its segments. */
  word_count: number;
  /** Number of times it was retrieved. */
  hit_count: number | null;
  /** Splitting method. */
  doc_form: string | null;
  /** Metadata. */
  doc_metadata: Record<string, unknown>[];
  /** Status of its summary. */
  summary_index_status: string | null;
  /** Whether it needs a summary. */
  need_summary: boolean;
};

/** A segment of a document, with its child chunks. */
export type KnowledgeSegment = {
  /** Segment ID. */
  id: string;
  /** Position in the document. */
  position: number;
  /** Document of the segment. */
  document_id: string;
  /** Text. */
  content: string;
  /** Text with signed addresses. */
  sign_content: string | null;
  /** Answer, if the text is a question. */
  answer: string | null;
  /** Number of words. */
  word_count: number;
  /** Number of tokens. */
  tokens: number;
  keywords: string[] | null;
  /** ID of its vector in a search index. */
  index_node_id: string | null;
  /** Hash of its vector. */
  index_node_hash: string | null;
  /** Number of times it was retrieved. */
  hit_count: number;
  /** Whether it is enabled. */
  enabled: boolean;
  /** When it was disabled. Unix epoch seconds. */
  disabled_at: number | null;
  /** Id of the user who disabled it. */
  disabled_by: string | null;
  /** State of its indexing. */
  status: string;
  /** Id of the creator; the workspace if that is not known. */
  created_by: string;
  /** Creation time. Unix epoch seconds. */
  created_at: number;
  /** Time of the last change. Unix epoch seconds. */
  updated_at: number;
  /** Id of the user of the last change. */
  updated_by: string | null;
  /** When its indexing started. Unix epoch seconds. */
  indexing_at: number | null;
  /** When its indexing was completed. Unix epoch seconds. */
  completed_at: number | null;
  error: string | null;
  /** When its indexing was stopped. Unix epoch seconds. */
  stopped_at: number | null;
  /** Its child chunks, by position, then by ID. */
  child_chunks: ChildChunk[];
  attachments: Record<string, unknown>[];
  summary: string | null;
};

/** A conversation of the app. */
export type ListedConversation = {
  /** Conversation ID. */
  id: string;
  /** Name. Without a name of its own, the beginning of its first query. */
  name: string;
  /** Input variables. Without its own, those of its first message. */
  inputs: Record<string, unknown>;
  /** Always `normal`. */
  status: 'normal';
  introduction: string | null;
  /** Creation time. Unix epoch seconds. */
  created_at: number;
  /** The latest of its creation, its newest message and its last rename. Unix epoch seconds. */
  updated_at: number;
};

export type Message = {
  /** Message ID. */
  id: string;
  conversation_id: string;
  /** Parent message for threaded conversations. */
  parent_message_id: string | null;
  /** Input variables for this message. */
  inputs: Record<string, unknown>;
  /** User query text. */
  query: string;
  /** Assistant answer text. */
  answer: string;
  /** `normal` for successful messages; `error` when generation failed. */
  status: 'normal' | 'error';
  /** Error message when status is `error`. */
  error: string | null;
  /** Files attached to the message. */
  message_files: MessageFile[];
  /** User feedback. */
  feedback: Feedback | null;
  /** Resources used for the message. */
  retriever_resources: RetrieverResource[];
  /** Agent thought steps. */
  agent_thoughts: AgentThought[];
  /** Creation time. Unix epoch seconds. */
  created_at: number;
  /** Additional execution content, such as human input form data. */
  extra_contents: HumanInputContent[];
  /** Tokens in the input message. */
  message_tokens: number;
  /** Tokens in the generated answer. */
  answer_tokens: number;
  /** Sum of message_tokens and answer_tokens. */
  total_tokens: number;
  /** Model provider latency in seconds. */
  provider_response_latency: number;
  /** Total price of the tokens; null when pricing is unavailable. */
  total_price: string | null;
  /** Currency of total_price; null when pricing is unavailable. */
  currency: string | null;
};

export type MessageFile = {
  /** File ID. */
  id: string;
  /** Original filename. */
  filename: string;
  /** File type, for example `image`. */
  type: string;
  /** Preview URL. */
  url: string | null;
  mime_type: string | null;
  /** Size in bytes. */
  size: number | null;
  /** `remote_url` (URL-based), `local_file` (uploaded), `tool_file` (tool-generated). */
  transfer_method: 'remote_url' | 'local_file' | 'tool_file';
  /** `user` for user-uploaded, `assistant` for assistant-generated files. */
  belongs_to: 'user' | 'assistant' | null;
  /** Upload file ID when transferred via `local_file`. */
  upload_file_id: string | null;
};

/** A page of messages. */
export type MessagePage = {
  /** Number of items per page. */
  limit: number;
  /** Whether more messages exist. */
  has_more: boolean;
  /** The messages. */
  data: Message[];
};

export type Model = {
  /** Model name. */
  model: string;
  /** Label by locale key. */
  label: Record<string, string>;
  model_type: 'text-embedding' | 'rerank' | 'llm' | 'tts' | 'speech2text' | 'moderation';
  /** Features of the model, or null. */
  features: unknown;
  /** Origin of the model definition, for example `predefined-model`. */
  fetch_from: string;
  /** Model properties, for example `context_size`. */
  model_properties: Record<string, unknown>;
  /** Model status, for example `active`. */
  status: string;
  /** Whether the model is deprecated. */
  deprecated: boolean;
  /** Whether load balancing is enabled. */
  load_balancing_enabled: boolean;
  /** Whether invalid load-balancing configurations exist. */
  has_invalid_load_balancing_configs: boolean;
};

export type ModelProvider = {
  /** Provider identifier made of slash-separated parts. */
  provider: string;
  /** Label by locale key. */
  label: Record<string, string>;
  /** Icon URL by locale key. */
  icon_small: Record<string, string>;
  /** Icon for dark themes, or null. */
  icon_small_dark: unknown;
  /** Provider status, for example `active`. */
  status: string;
  /** Models of the requested type offered by the provider. */
  models: Model[];
  /** Workspace identifier. */
  tenant_id: string;
};

/** What was erased, or, with `dry_run`, would be erased. */
export type Purged = {
  /** Number of erased conversations, deleted ones too. */
  conversations: number;
  /** Number of erased messages. */
  messages: number;
  /** How many of the conversations were on hold: `hold` protects from retention, not from a purge. */
  held: number;
  /** Entry of the audit log; null if nothing was erased. */
  audit_id: string | null;
  /** Where copies of the erased texts may still be. None if nothing was erased, and on PostgreSQL. */
  copies: ('files' | 'replica')[];
};

/** Feedback of a user. */
export type Rating = {
  /** `like`, `dislike`, or null to remove the feedback. */
  rating?: 'like' | 'dislike' | null | undefined;
  /** Text, at most 10000 characters. */
  content?: string | null | undefined;
  /** End-user identifier. The conversation must be of this user, or of none. */
  user: string;
};

/** A new name. */
export type Rename = {
  /** New name, at most 255 characters. Required without auto_generate. */
  name?: string | null | undefined;
  /** Whether to derive the name from the first query again. */
  auto_generate?: boolean | undefined;
  /** End-user identifier. If present, only conversations of this user exist. */
  user?: string | null | undefined;
};

export type RetrieverResource = {
  /** Resource ID. */
  id: string;
  /** Message the resource belongs to. */
  message_id: string;
  /** Position in the list. */
  position: number;
  /** Knowledge base ID. */
  dataset_id: string;
  /** Knowledge base name. */
  dataset_name: string;
  document_id: string;
  document_name: string;
  /** Type of data source. */
  data_source_type: string;
  /** Chunk ID within the document. */
  segment_id: string;
  /** Similarity score. */
  score: number;
  /** Times the chunk was hit. */
  hit_count: number;
  /** Words in the chunk. */
  word_count: number;
  /** Position of the chunk in the document. */
  segment_position: number;
  /** Hash of the index node. */
  index_node_hash: string;
  /** Content snippet. */
  content: string;
  /** Summary of the chunk content. */
  summary: string | null;
  /** Creation time. Unix epoch seconds. */
  created_at: number;
};

/** A document. `metadata=only` selects `id`, `doc_type` and `doc_metadata`, `without` all but the last two. */
export type SingleDocument = {
  /** Document ID. */
  id: string;
  /** Position in the knowledge base. */
  position?: number | undefined;
  /** Type of data source. */
  data_source_type?: string | null | undefined;
  /** Data source. */
  data_source_info?: Record<string, unknown> | undefined;
  /** Processing rule. */
  dataset_process_rule_id?: string | null | undefined;
  dataset_process_rule?:
    | {
        mode: string | null;
        rules: Record<string, unknown> | null;
      }
    | undefined;
  /** Processing rule of the document. */
  document_process_rule?: Record<string, unknown> | null | undefined;
  name?: string | undefined;
  /** Channel of its creation. */
  created_from?: string | null | undefined;
  /** Id of the creator; the workspace if that is not known. */
  created_by?: string | undefined;
  /** Creation time. Unix epoch seconds. */
  created_at?: number | undefined;
  /** Number of tokens. */
  tokens?: number | null | undefined;
  /** State of its indexing. */
  indexing_status?: string | undefined;
  /** When its indexing was completed. Unix epoch seconds. */
  completed_at?: number | null | undefined;
  /** Time of the last change. Unix epoch seconds. */
  updated_at?: number | undefined;
  /** Duration of its indexing. */
  indexing_latency?: number | null | undefined;
  error?: string | null | undefined;
  /** Whether it is enabled. */
  enabled?: boolean | undefined;
  /** When it was disabled. Unix epoch seconds. */
  disabled_at?: number | null | undefined;
  /** Id of the user who disabled it. */
  disabled_by?: string | null | undefined;
  /** Whether it is archived. */
  archived?: boolean | undefined;
  /** Type of document. */
  doc_type?: string | null | undefined;
  /** Metadata. */
  doc_metadata?: Record<string, unknown>[] | undefined;
  /** Number of segments. */
  segment_count?: number | undefined;
  /** Words per segment, rounded down. */
  average_segment_length?: number | undefined;
  /** Number of times it was retrieved. */
  hit_count?: number | null | undefined;
  /** Status: `available`, `disabled`, `archived`, `indexing`, `queuing`, `paused`, `error`. */
  display_status?: string | undefined;
  /** Splitting method. */
  doc_form?: string | null | undefined;
  /** Language. */
  doc_language?: string | null | undefined;
  /** Status of its summary. */
  summary_index_status?: string | null | undefined;
  /** Whether it needs a summary. */
  need_summary?: boolean | undefined;
};

export type SnippetPart = {
  /** Part of the text. */
  text: string;
  /** Whether it matches the query. */
  hit: boolean;
};

export type Tag = {
  /** Tag ID. */
  id: string;
  name: string;
  type: string;
};

/** An end user, with totals of their conversations. */
export type User = {
  /** End user. */
  user: string;
  /** Apps in which the user has conversations. */
  app_ids: string[];
  /** Number of conversations. */
  conversations: number;
  /** Number of messages in them. */
  messages: number;
  /** Messages that the user disliked. */
  disliked: number;
  /** Messages whose status is `error`. */
  failed: number;
  /** Sum of the prices of the messages; null without prices, or in several currencies. */
  total_price: number | null;
  /** Currency of total_price; null if total_price is null. */
  currency: string | null;
  /** Creation time of the first conversation. Unix epoch seconds. */
  first_at: number;
  /** Last activity: the latest `updated_at` of the conversations. Unix epoch seconds. */
  last_at: number;
};

export type UserAction = {
  /** Action ID. */
  id: string;
  /** Button text. */
  title: string;
  /** Style of the button. */
  button_style: 'primary' | 'default' | 'accent' | 'ghost';
};

/** A record of the initial snapshot, or one that was created, changed or deleted. */
export type ChangedRecord<Kind, Fields> = {
  /** Position of this entry. Send it as `after` to continue from here. */
  cursor: string;
  /** ID of the record. A model provider is identified by its name. */
  id: string;
  /** Time of the change. Entries of the initial snapshot have the time of the request. Unix epoch seconds. */
  at: number;
  /** Whether the record was deleted or erased. If a conversation is gone, so are its messages. */
  gone: boolean;
  /** IDs of what the record belongs to: `workspace_id`, and below it what its kind has. */
  path: Record<string, string>;
  /** Kind of record. */
  kind: Kind;
  /** The record, as in an export. Null if it is gone or `include` is `none`. */
  record: Fields | null;
};

/** A changed record. Its `kind` decides the type of its `record`. */
export type Change =
  | ChangedRecord<'workspace', WorkspaceRecord>
  | ChangedRecord<'app', AppRecord>
  | ChangedRecord<'dataset', DatasetRecord>
  | ChangedRecord<'model_provider', ModelProviderRecord>
  | ChangedRecord<'document', DocumentRecord>
  | ChangedRecord<'segment', SegmentRecord>
  | ChangedRecord<'child_chunk', ChildChunkRecord>
  | ChangedRecord<'conversation', ConversationRecord>
  | ChangedRecord<'message', MessageRecord>;

/** A record of kind `workspace` in the change feed. */
export type WorkspaceRecord = {
  record: 'workspace';
  /** Workspace ID. */
  id: string;
  name: string;
};

/** A record of kind `app` in the change feed. */
export type AppRecord = {
  record: 'app';
  /** App ID. */
  id: string;
  /** Workspace of the app. */
  workspace_id: string;
  name: string;
  /** App mode, for example `chat`. */
  mode: string;
  /** Days from the last message of a conversation until it is erased; null for `RETENTION_DAYS`. */
  retention_days: number | null;
  description: string | null;
  /** Values that replace the defaults of `GET /v1/parameters`, by name. */
  parameters: Record<string, unknown> | null;
  /** Values that replace the defaults of `GET /v1/site`. */
  site: Record<string, unknown> | null;
};

/** A record of kind `dataset` in the change feed. */
export type DatasetRecord = {
  record: 'dataset';
  /** Knowledge base ID. */
  id: string;
  /** Workspace of the knowledge base. */
  workspace_id: string;
  name: string;
  description: string | null;
  /** Indexing technique, for example `high_quality`. */
  indexing_technique: string | null;
  embedding_model: string | null;
  /** Provider of the embedding model. */
  embedding_model_provider: string | null;
  /** Splitting method of its documents, for example `hierarchical_model`. */
  doc_form: string | null;
  /** Type of data source, for example `upload_file`. */
  data_source_type: string | null;
  tags: Tag[];
  /** Creation time. Unix epoch seconds. */
  created_at: number;
  /** Time of the last change. Unix epoch seconds. */
  updated_at: number;
  /** Replaces constants of the knowledge base in responses, by name. */
  settings: Record<string, unknown> | null;
};

/** A record of kind `model_provider` in the change feed. */
export type ModelProviderRecord = {
  record: 'model_provider';
  /** Workspace. */
  workspace_id: string;
  /** Provider identifier, slash-separated. */
  provider: string;
  /** Label by locale key. */
  label: Record<string, string>;
  /** Icon URL by locale key. */
  icon_small: Record<string, string>;
  /** Icon for dark themes, or null. */
  icon_small_dark: unknown;
  /** Provider status, for example `active`. */
  status: string;
  /** Models of the requested type offered by the provider. */
  models: Model[];
};

/** A record of kind `document` in the change feed. */
export type DocumentRecord = {
  record: 'document';
  /** Document ID. */
  id: string;
  /** Knowledge base of the document. */
  dataset_id: string;
  name: string;
  /** Position in the knowledge base. Default: that of the stored document, or the next. */
  position: number;
  /** Creation time. Unix epoch seconds. */
  created_at: number;
  /** Time of the last change. Unix epoch seconds. */
  updated_at: number;
  /** Whether it is enabled. */
  enabled: boolean;
  /** Whether it is archived. */
  archived: boolean;
  /** State of its indexing, for example `completed`. */
  indexing_status: string;
  /** Splitting method, for example `hierarchical_model`. */
  doc_form: string | null;
  /** Language. */
  doc_language: string | null;
  /** Type of data source, for example `upload_file`. */
  data_source_type: string | null;
  /** Its data source. */
  data_source_info: Record<string, unknown> | null;
  /** Number of tokens. */
  tokens: number | null;
  /** Metadata. */
  doc_metadata: Record<string, unknown>[];
  /** Id of the creator. Default in responses: the workspace. */
  created_by: string | null;
  /** When it was disabled. Unix epoch seconds. */
  disabled_at: number | null;
};

/** A record of kind `segment` in the change feed. */
export type SegmentRecord = {
  record: 'segment';
  /** Segment ID. */
  id: string;
  /** Document of the segment. */
  document_id: string;
  /** Position in the document. */
  position: number;
  /** Text. */
  content: string;
  /** Answer, if the text is a question. */
  answer: string | null;
  keywords: string[] | null;
  /** Whether it is enabled. */
  enabled: boolean;
  /** State of its indexing, for example `completed`. */
  status: string;
  /** Number of tokens. */
  tokens: number;
  /** Number of times it was retrieved. */
  hit_count: number;
  /** ID of its vector in a search index. */
  index_node_id: string | null;
  /** Hash of its vector. */
  index_node_hash: string | null;
  /** Creation time. Unix epoch seconds. */
  created_at: number;
  /** Time of the last change. Unix epoch seconds. */
  updated_at: number;
  /** Id of the creator. Default in responses: the workspace. */
  created_by: string | null;
  /** When it was disabled. Unix epoch seconds. */
  disabled_at: number | null;
};

/** A record of kind `child_chunk` in the change feed. */
export type ChildChunkRecord = ChildChunk & {
  record: 'child_chunk';
  /** Whether it is deleted. A deleted child chunk is not listed and cannot be read. */
  deleted: boolean;
  /** ID of its vector in a search index. */
  index_node_id: string | null;
};

/** A record of kind `conversation` in the change feed. */
export type ConversationRecord = {
  record: 'conversation';
  /** Conversation ID. */
  id: string;
  /** App of the conversation. */
  app_id: string;
  /** End user of the conversation. */
  user: string | null;
  /** Creation time. Unix epoch seconds. */
  created_at: number;
  /** Whether it is deleted. Readers cannot see a deleted conversation. */
  deleted: boolean;
  /** Whether it is protected from retention. */
  hold: boolean;
  /** Name; null if it is derived from the query of the first message. */
  name: string | null;
  /** Input variables; null if they are those of the first message. */
  inputs: Record<string, unknown> | null;
  introduction: string | null;
  /** Time of the last change of the name; null if there was none. Unix epoch seconds. */
  renamed_at: number | null;
  /** Last change in the system it comes from. Lists show the latest of all times. Unix epoch seconds. */
  updated_at: number | null;
};

/** A record of kind `message` in the change feed. */
export type MessageRecord = Message & {
  record: 'message';
  /** Text of the feedback. Readers cannot see it. */
  feedback_content: string | null;
  /** Time at which a reader gave or removed the feedback; null if it was imported. Not shown. Unix epoch seconds. */
  rated_at: number | null;
  /** Provider of the model that answered. Readers cannot see it. */
  model_provider: string | null;
  /** Model that answered. Readers cannot see it. */
  model: string | null;
  /** Trace of the answer, for `TRACE_URL`. Readers cannot see it. */
  trace_id: string | null;
  /** Items of an OpenAI client, as received. Readers cannot see them. */
  items: Record<string, unknown>[];
};
