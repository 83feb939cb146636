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
  /** End-user identifier. Only conversations of this user exist then. */
  user?: string | undefined;
  /** Cursor: returns only conversations after the conversation with this ID. */
  last_id?: string | undefined;
  /** Another name of `last_id`, if that is absent. */
  first_id?: string | undefined;
  /** The end of an earlier page in the same order, from its `Link` header. `last_id` is ignored then. */
  cursor?: string | undefined;
  /** Number of conversations returned per request. */
  limit?: number | undefined;
  /** Order, then by id. With `-`: descending. */
  sort_by?: 'created_at' | '-created_at' | 'updated_at' | '-updated_at' | undefined;
};

/** Rename Conversation: path. */
export type RenameConversationPath = {
  /** Conversation ID. */
  conversation_id: string;
};

/** Delete Conversation: path. */
export type DeleteConversationPath = {
  /** Conversation ID. */
  conversation_id: string;
};

/** Submit Message Feedback: path. */
export type RateMessagePath = {
  /** Message ID. */
  message_id: string;
};

/** Get Suggested Questions: path. */
export type GetSuggestedQuestionsPath = {
  /** Message ID. */
  message_id: string;
};

/** Get App Info: query. */
export type GetAppInfoQuery = {
  /** End-user identifier. It has no effect. */
  user?: string | undefined;
};

/** Get App Parameters: query. */
export type GetAppParametersQuery = {
  /** End-user identifier. It has no effect. */
  user?: string | undefined;
};

/** Get App Meta: query. */
export type GetAppMetaQuery = {
  /** End-user identifier. It has no effect. */
  user?: string | undefined;
};

/** Get App Site: query. */
export type GetAppSiteQuery = {
  /** End-user identifier. It has no effect. */
  user?: string | undefined;
};

/** List Knowledge Bases: query. */
export type ListKnowledgeBasesQuery = {
  /** Number of the page. */
  page?: number | undefined;
  /** Number of items per page. */
  limit?: number | undefined;
  /** Only items with this text in the name. A–Z match in any case. */
  keyword?: string | undefined;
  /** Only knowledge bases with all of these tags. */
  tag_ids?: string[] | undefined;
  /** Accepted and ignored. */
  include_all?: string | undefined;
};

/** Get a Knowledge Base: path. */
export type GetKnowledgeBasePath = {
  /** Knowledge base ID. */
  dataset_id: string;
};

/** List Documents: path. */
export type ListKnowledgeDocumentsPath = {
  /** Knowledge base ID. */
  dataset_id: string;
};

/** List Documents: query. */
export type ListKnowledgeDocumentsQuery = {
  /** Number of the page. */
  page?: number | undefined;
  /** Number of items per page. */
  limit?: number | undefined;
  /** Only items with this text in the name. A–Z match in any case. */
  keyword?: string | undefined;
  /** Only this `display_status`. */
  status?: 'available' | 'disabled' | 'archived' | 'indexing' | 'queuing' | 'paused' | 'error' | undefined;
};

/** Get a Document: path. */
export type GetKnowledgeDocumentPath = {
  /** Knowledge base ID. */
  dataset_id: string;
  /** Document ID. */
  document_id: string;
};

/** Get a Document: query. */
export type GetKnowledgeDocumentQuery = {
  /** `all`, `only` or `without`: which fields are returned. */
  metadata?: 'all' | 'only' | 'without' | undefined;
};

/** List Segments: path. */
export type ListKnowledgeSegmentsPath = {
  /** Knowledge base ID. */
  dataset_id: string;
  /** Document ID. */
  document_id: string;
};

/** List Segments: query. */
export type ListKnowledgeSegmentsQuery = {
  /** Number of the page. */
  page?: number | undefined;
  /** Number of items per page. */
  limit?: number | undefined;
  /** Only items with this text in the text. A–Z match in any case. */
  keyword?: string | undefined;
  /** Only segments with one of these statuses. */
  status?: string[] | undefined;
};

/** Get a Segment: path. */
export type GetKnowledgeSegmentPath = {
  /** Knowledge base ID. */
  dataset_id: string;
  /** Document ID. */
  document_id: string;
  /** Parent chunk ID. */
  segment_id: string;
};

/** List Child Chunks: path. */
export type ListKnowledgeChildChunksPath = {
  /** Knowledge base ID. */
  dataset_id: string;
  /** Document ID. */
  document_id: string;
  /** Parent chunk ID. */
  segment_id: string;
};

/** List Child Chunks: query. */
export type ListKnowledgeChildChunksQuery = {
  /** Number of the page. */
  page?: number | undefined;
  /** Number of items per page. */
  limit?: number | undefined;
  /** Only items with this text in the text. A–Z match in any case. */
  keyword?: string | undefined;
};

/** Create Child Chunk: path. */
export type CreateChildChunkPath = {
  /** Knowledge base ID. */
  dataset_id: string;
  /** Document ID. */
  document_id: string;
  /** Parent chunk ID. */
  segment_id: string;
};

/** Update Child Chunk: path. */
export type UpdateChildChunkPath = {
  /** Knowledge base ID. */
  dataset_id: string;
  /** Document ID. */
  document_id: string;
  /** Parent chunk ID. */
  segment_id: string;
  /** Child chunk ID. */
  child_chunk_id: string;
};

/** Get Child Chunk: path. */
export type GetChildChunkPath = {
  /** Knowledge base ID. */
  dataset_id: string;
  /** Document ID. */
  document_id: string;
  /** Parent chunk ID. */
  segment_id: string;
  /** Child chunk ID. */
  child_chunk_id: string;
};

/** Delete Child Chunk: path. */
export type DeleteChildChunkPath = {
  /** Knowledge base ID. */
  dataset_id: string;
  /** Document ID. */
  document_id: string;
  /** Parent chunk ID. */
  segment_id: string;
  /** Child chunk ID. */
  child_chunk_id: string;
};

/** Get Available Models: path. */
export type GetAvailableModelsPath = {
  /** Model type. */
  model_type: 'text-embedding' | 'rerank' | 'llm' | 'tts' | 'speech2text' | 'moderation';
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

/** An entry of the audit log. It never contains texts or secrets. */
export type Activity = {
  /** Entry ID. IDs sort by time. */
  id: string;
  /** Time. Unix epoch seconds. */
  at: number;
  /** Key of the request; null for the command line. */
  key_id: string | null;
  /** Name of that key now; null for the command line, or if the key does not exist. */
  key_name: string | null;
  /** Action. */
  action: 'import' | 'create' | 'update' | 'delete' | 'revoke' | 'purge';
  /** Kind of record. */
  record:
    | 'workspace'
    | 'app'
    | 'api_key'
    | 'conversation'
    | 'message'
    | 'dataset'
    | 'document'
    | 'segment'
    | 'child_chunk'
    | 'child_chunk_revision'
    | 'model_provider';
  /** Number of records. */
  count: number;
  /** The first 10 of them. */
  records: NamedRecord[];
};

export type AgentThought = {
  /** Thought ID. */
  id: string;
  /** Chain ID. */
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

/** An app. */
export type App = {
  /** App ID. */
  id: string;
  /** Its workspace. */
  workspace_id: string;
  /** Name of the workspace. */
  workspace_name: string;
  /** Name. */
  name: string;
  /** App mode. Messages are listed only for apps with a mode in `x-chat-modes`. */
  mode: string;
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

/** Icons of tools. */
export type AppMeta = {
  /** Always empty. */
  tool_icons: Record<string, unknown>;
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

/** Display settings of front ends. The app record can add more. */
export type AppSite = {
  /** Default: the name of the app. */
  title: unknown;
  /** Default: `null`. */
  chat_color_theme: unknown;
  /** Default: `false`. */
  chat_color_theme_inverted: unknown;
  /** Default: `null`. */
  icon_type: unknown;
  /** Default: `null`. */
  icon: unknown;
  /** Default: `null`. */
  icon_background: unknown;
  /** Default: the description of the app. */
  description: unknown;
  /** Default: `null`. */
  copyright: unknown;
  /** Default: `null`. */
  privacy_policy: unknown;
  /** Default: `null`. */
  input_placeholder: unknown;
  /** Default: `null`. */
  custom_disclaimer: unknown;
  /** Default: `"en-US"`. */
  default_language: unknown;
  /** Default: `false`. */
  show_workflow_steps: unknown;
  /** Default: `false`. */
  use_icon_as_answer_icon: unknown;
  /** Default: `null`. */
  icon_url: unknown;
};

/** A record that differs from what an earlier entry or the start of the feed showed. */
export type Change = {
  /** Position of this entry: `after` of a request that continues behind it. */
  cursor: string;
  /** Kind of record. */
  kind:
    | 'workspace'
    | 'app'
    | 'dataset'
    | 'model_provider'
    | 'document'
    | 'segment'
    | 'child_chunk'
    | 'conversation'
    | 'message';
  /** ID of the record. A model provider is identified by its name. */
  id: string;
  /** Time of the change. Entries of the initial snapshot have the time of the request. Unix epoch seconds. */
  at: number;
  /** Whether the record was deleted or erased. A conversation that is gone takes its messages with it. */
  gone: boolean;
  /** IDs of what the record belongs to: `workspace_id`, and below it what its kind has. */
  path: Record<string, unknown>;
  /** The record, as in an export. Null if it is gone or `include` is `none`. */
  record: Record<string, unknown> | null;
};

/** A page of the change feed. */
export type ChangePage = {
  /** Changed records. */
  data: Change[];
  /** Whether more entries may follow at once. */
  has_more: boolean;
  /** `after` of the next request. Store it together with the effect of these entries. */
  cursor: string;
};

export type ChildChunk = {
  /** Child chunk ID. */
  id: string;
  /** Parent chunk ID. */
  segment_id: string;
  /** Child chunk text. */
  content: string;
  /** Position. */
  position: number;
  /** Word count. */
  word_count: number;
  /** Type of child chunk: `automatic` after splitting, `customized` after an edit. */
  type: string;
  /** Creation time. Unix epoch seconds. */
  created_at: number;
  /** Time of the last change. Unix epoch seconds. */
  updated_at: number;
};

export type ChildChunkRevision = {
  /** Number of the revision. */
  revision: number;
  /** Replaced text. */
  content: string;
  /** Time of the replacement. Unix epoch seconds. */
  replaced_at: number;
  /** Key that replaced it; null for an import. */
  key_id: string | null;
  /** Name of that key; null without a key. */
  key_name: string | null;
};

/** A session of the console. Its secret is only in the cookie. */
export type ConsoleSession = {
  /** Admin key of the session. The session ends when the key is revoked or expires. */
  key_id: string;
  /** Name of that key. */
  name: string;
  /** End of the session. Unix epoch seconds. */
  expires_at: number;
  /** Whether the key, and so the session, allows only reads. */
  read_only: boolean;
};

/** A conversation of an app. */
export type Conversation = {
  /** Conversation ID. */
  id: string;
  /** End user of the conversation. */
  user: string | null;
  /** Name. Without a name of its own, the beginning of its first query. */
  name: string;
  /** Creation time. Unix epoch seconds. */
  created_at: number;
  /** Number of messages in it. */
  message_count: number;
  /** Time of its newest message; null if it has none. Unix epoch seconds. */
  last_message_at: number | null;
  /** The latest of its creation, its newest message and its last rename. Unix epoch seconds. */
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

/** A conversation of any app, with counts of its messages. */
export type ConversationSummary = {
  /** Conversation ID. */
  id: string;
  /** End user of the conversation. */
  user: string | null;
  /** Name. Without a name of its own, the beginning of its first query: up to 200 characters. */
  name: string;
  /** Creation time. Unix epoch seconds. */
  created_at: number;
  /** App ID. */
  app_id: string;
  /** Name of the app. */
  app_name: string;
  /** The latest of its creation, its newest message and its last rename. Unix epoch seconds. */
  updated_at: number;
  /** Time of its newest message; null if it has none. Unix epoch seconds. */
  last_message_at: number | null;
  /** Number of messages in it. */
  message_count: number;
  /** Number of messages that the user disliked. */
  disliked_count: number;
  /** Number of messages whose status is `error`. */
  failed_count: number;
  /** Sum of the prices of its messages; null without prices, or in several currencies. */
  price: number | null;
  /** Currency of price; null if price is null. */
  currency: string | null;
  /** Beginning of the newest answer, or of its query if the answer is empty: up to 200 characters. Empty if that message is larger than 64 KiB. */
  last_text: string;
};

/** A new key, with its secret. */
export type CreatedKey = {
  /** Key ID. */
  id: string;
  /** Secret. It is returned only once. */
  secret: string;
};

/** A knowledge base. */
export type Dataset = {
  /** Knowledge base ID. */
  id: string;
  /** Its workspace. */
  workspace_id: string;
  /** Name of the workspace. */
  workspace_name: string;
  /** Name. */
  name: string;
  /** Number of its documents. */
  document_count: number;
  /** Number of words. */
  word_count: number;
  /** Time of the last change: of its own record, or of a child chunk in it by a request, as far as the audit log reaches; null if unknown. Unix epoch seconds. */
  changed_at: number | null;
};

/** Whose conversation it is. */
export type Deletion = {
  /** End-user identifier. Only conversations of this user exist then. */
  user?: string | null | undefined;
};

/** A document of a knowledge base. */
export type Document = {
  /** Document ID. */
  id: string;
  /** Name. */
  name: string;
  /** Number of its segments. */
  segment_count: number;
  /** Number of words. */
  word_count: number;
  /** Time of the last change: of its own record, or of a child chunk in it by a request, as far as the audit log reaches; null if unknown. Unix epoch seconds. */
  changed_at: number | null;
};

/** A document of a knowledge base, with its neighbours in the list. */
export type DocumentShown = {
  /** Document ID. */
  id: string;
  /** Name. */
  name: string;
  /** Number of its segments. */
  segment_count: number;
  /** Number of words. */
  word_count: number;
  /** Time of the last change: of its own record, or of a child chunk in it by a request, as far as the audit log reaches; null if unknown. Unix epoch seconds. */
  changed_at: number | null;
  /** The document before it in the list; null for the first. */
  previous: {
    /** Document ID. */
    id: string;
    /** Name. */
    name: string;
  } | null;
  /** The document after it in the list; null for the last. */
  next: {
    /** Document ID. */
    id: string;
    /** Name. */
    name: string;
  } | null;
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

export type Failure = {
  /** Status of the responses. */
  status: number;
  /** Method of the requests. */
  method: string;
  /** Route, such as `/v1/messages`; `unmatched` for an unknown path, `rejected` if the service was overloaded. */
  route: string;
  /** ID of the key; null without a valid key. */
  key_id: string | null;
  /** Name of the key; null without a valid key. */
  key_name: string | null;
  /** Number of responses since `first_at`. */
  count: number;
  /** The first one; there was no pause of an hour since. Unix epoch seconds. */
  first_at: number;
  /** The last one. Unix epoch seconds. */
  last_at: number;
  /** `X-Request-Id` of the last one: the log has a line with it. */
  request_id: string;
  /** Error code of the last one; null if its response has none. */
  code: string | null;
  /** Error message of the last one, without values of the request; with the path if it is unknown. */
  message: string;
};

/** Responses of this instance with a status of 400 or above. */
export type Failures = {
  /** The latest 100 kinds of failure in the last hour, latest first. */
  data: Failure[];
};

export type Feedback = {
  /** `like` (positive) or `dislike` (negative). */
  rating: 'like' | 'dislike';
};

export type FeedbackText = {
  /** Message ID. */
  message_id: string;
  /** Text of the feedback; at most the first 10000 characters. */
  content: string;
};

export type FeedbackTexts = {
  /** One entry for each of the messages that has a text. */
  data: FeedbackText[];
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

/** A key, without its secret. */
export type Key = {
  /** Key ID. */
  id: string;
  /** Kind of key. */
  kind: 'app' | 'knowledge' | 'writer' | 'feed' | 'admin';
  /** Name. */
  name: string;
  /** Workspace; null for kind admin. */
  workspace_id: string | null;
  /** App; only for kind app or writer or feed. */
  app_id: string | null;
  /** Only these datasets; null for all. Only for kind knowledge or feed. */
  dataset_ids: string[] | null;
  /** Creation time. Unix epoch seconds. */
  created_at: number;
  /** Time of expiry; null if the key does not expire. Unix epoch seconds. */
  expires_at: number | null;
  /** Time of revocation; null if the key is not revoked. Unix epoch seconds. */
  revoked_at: number | null;
  /** Time of last use, stored every 30 seconds. Unix epoch seconds. */
  last_used_at: number | null;
  /** Whether the key allows only reads. */
  read_only: boolean;
};

/** A change of a key. */
export type KeyChange = {
  /** Whether the key allows only reads. Only for kind app or knowledge or admin. */
  read_only: boolean;
};

/** A knowledge base. */
export type KnowledgeBase = {
  /** Knowledge base ID. */
  id: string;
  /** Name. */
  name: string;
  /** Description. */
  description: string | null;
  /** Provider. */
  provider: string;
  /** Users who may use it. */
  permission: string;
  /** Type of data source. */
  data_source_type: string | null;
  /** Indexing technique. */
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
  /** Embedding model. */
  embedding_model: string | null;
  /** Provider of the embedding model. */
  embedding_model_provider: string | null;
  /** Whether the embedding model is available. */
  embedding_available: boolean;
  retrieval_model_dict: {
    /** Search method. */
    search_method: string;
    /** Whether results are reranked. */
    reranking_enable: boolean;
    /** Reranking mode. */
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
  /** Tags. */
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
    /** Name. */
    name: string;
    /** Type. */
    type: string;
  }[];
  /** Whether built-in metadata fields are used. */
  built_in_field_enabled: boolean;
  /** Pipeline. */
  pipeline_id: string | null;
  /** Runtime mode. */
  runtime_mode: string | null;
  /** Chunk structure. */
  chunk_structure: string | null;
  icon_info: {
    /** Type of icon. */
    icon_type: string | null;
    /** Icon. */
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
  /** Maintainer. */
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
  /** Name. */
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
  /** Error. */
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

/** A segment or child chunk. */
export type KnowledgeHit = {
  /** Knowledge base ID. */
  dataset_id: string;
  /** Name of the knowledge base. */
  dataset_name: string;
  /** Document ID. */
  document_id: string;
  /** Name of the document. */
  document_name: string;
  /** Segment ID. */
  segment_id: string;
  /** Child chunk ID; null if the segment itself is meant. */
  child_chunk_id: string | null;
  /** Part of the text around the first match; without one, its beginning. */
  snippet: string;
  /** Matches in the snippet: start and end, in UTF-16 units. */
  ranges: number[][];
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
  /** Keywords. */
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
  /** Error. */
  error: string | null;
  /** When its indexing was stopped. Unix epoch seconds. */
  stopped_at: number | null;
  /** Its child chunks, by position, then by ID. */
  child_chunks: ChildChunk[];
  /** Attachments. */
  attachments: Record<string, unknown>[];
  /** Summary. */
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
  /** Introduction. */
  introduction: string | null;
  /** Creation time. Unix epoch seconds. */
  created_at: number;
  /** The latest of its creation, its newest message and its last rename. Unix epoch seconds. */
  updated_at: number;
};

export type LocatedPage = {
  /** `first_id` of the page. Null: the newest page has the message. */
  first_id: string | null;
};

export type Message = {
  /** Message ID. */
  id: string;
  /** Conversation ID. */
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
  /** MIME type. */
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
  /** Model type. */
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

export type NamedRecord = {
  /** ID. For a kind that is identified by two fields: both, with `/` between them. */
  id: string;
  /** Its name now; null if it does not exist any more. */
  name: string | null;
  /** IDs from the top down to the record, such as dataset, document, segment and child chunk. */
  path: string[] | null;
};

/** A key to create. */
export type NewKey = {
  /** Kind of key. `x-key-kinds` lists what each kind allows and which fields it requires and accepts. */
  kind: 'app' | 'knowledge' | 'writer' | 'feed' | 'admin';
  /** Name. */
  name?: string | undefined;
  /** App; only for kind app or writer or feed. */
  app_id?: string | null | undefined;
  /** Workspace; only for kind knowledge or feed. */
  workspace_id?: string | null | undefined;
  /** Only these datasets; null for all. Only for kind knowledge or feed. */
  dataset_ids?: string[] | null | undefined;
  /** Time of expiry, in the future; null if the key does not expire. Unix epoch seconds. */
  expires_at?: number | null | undefined;
  /** Whether the key allows only reads. Only for kind app or knowledge or admin. */
  read_only?: boolean | undefined;
};

/** Totals of a period, and as `before` those of the equally long period before it. */
export type Overview = {
  /** Start of the period: midnight UTC. Unix epoch seconds. */
  from: number;
  /** End of the period: midnight UTC, exclusive. Unix epoch seconds. */
  to: number;
  totals: OverviewTotals;
  before: OverviewTotals;
  /** Days of the period that have messages, oldest first. */
  days: OverviewDay[];
  /** The 100 apps with the most messages, most messages first. */
  apps: OverviewApp[];
  /** The 20 users with the most messages, most messages first. */
  users: OverviewUser[];
};

export type OverviewApp = {
  /** App ID. */
  app_id: string;
  /** Name of the app. */
  app_name: string;
  /** Number of messages. */
  messages: number;
  /** Messages that their users liked. */
  liked: number;
  /** Messages that their users disliked. */
  disliked: number;
  /** Messages whose status is `error`. */
  failed: number;
  /** Sum of their total_tokens. */
  tokens: number;
  /** Sums of their prices by currency, in the order of the currencies: the 20 with the most messages. */
  prices: Price[];
};

export type OverviewDay = {
  /** Day in UTC. */
  day: string;
  /** Number of messages. */
  messages: number;
  /** Messages that their users liked. */
  liked: number;
  /** Messages that their users disliked. */
  disliked: number;
  /** Messages whose status is `error`. */
  failed: number;
  /** Sum of their total_tokens. */
  tokens: number;
  /** Sums of their prices by currency, in the order of the currencies: the 20 with the most messages. */
  prices: Price[];
};

/** Totals of the messages of a period. */
export type OverviewTotals = {
  /** Number of messages. */
  messages: number;
  /** Messages that their users liked. */
  liked: number;
  /** Messages that their users disliked. */
  disliked: number;
  /** Messages whose status is `error`. */
  failed: number;
  /** Sum of their total_tokens. */
  tokens: number;
  /** Number of different users of their conversations. */
  users: number;
  /** Sums of their prices by currency, in the order of the currencies: the 20 with the most messages. */
  prices: Price[];
};

export type OverviewUser = {
  /** End user. */
  user: string;
  /** Number of messages. */
  messages: number;
  /** Messages that their users liked. */
  liked: number;
  /** Messages that their users disliked. */
  disliked: number;
  /** Messages whose status is `error`. */
  failed: number;
  /** Sum of their total_tokens. */
  tokens: number;
  /** Sum of the prices; null without prices, or in several currencies. */
  price: number | null;
  /** Currency of price; null if price is null. */
  currency: string | null;
};

export type Price = {
  /** Currency. */
  currency: string;
  /** Sum of the prices in this currency. */
  price: number;
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
  /** End-user identifier. Only conversations of this user exist then. */
  user?: string | null | undefined;
};

/** Done. */
export type Result = {
  /** Always `success`. */
  result: string;
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
  /** Document ID. */
  document_id: string;
  /** Document name. */
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

/** Numbers of search results. */
export type SearchCounts = {
  /** Counts stop at this number. */
  max: number;
  /** Messages with these filters; `max` means this many or more. */
  all: number;
  /** Messages with these filters that were disliked; `max` means this many or more. */
  disliked: number;
  /** Messages with these filters whose generation failed; `max` means this many or more. */
  failed: number;
  /** Messages with these filters that have files; `max` means this many or more. */
  files: number;
  /** Messages with these filters that have a form waiting for its submission; `max` means this many or more. */
  waiting_form: number;
  /** Messages with these filters that have citations; `max` means this many or more. */
  citations: number;
  /** Messages with these filters that were disliked or whose generation failed; `max` means this many or more. */
  bad_answer: number;
  /** Whether counts may be too low: too many messages have the words of a phrase, but not in sequence. */
  is_partial: boolean;
  /** Whether the index is being built from all records: then results are incomplete. */
  is_building: boolean;
};

/** A message. */
export type SearchHit = {
  /** App ID. */
  app_id: string;
  /** Conversation ID. */
  conversation_id: string;
  /** Message ID. */
  message_id: string;
  /** Creation time of the message. Unix epoch seconds. */
  created_at: number;
  /** End user of the conversation. */
  user: string | null;
  /** Part of the text around the first match; without one, its beginning. */
  snippet: string;
  /** Matches in the snippet: start and end, in UTF-16 units. */
  ranges: number[][];
};

/** A parent chunk of a document. */
export type Segment = {
  /** Parent chunk ID. */
  id: string;
  /** Position in the document. */
  position: number;
  /** Text. */
  content: string;
  /** Number of words. */
  word_count: number;
  /** Number of its child chunks. */
  child_chunk_count: number;
};

/** A parent chunk of a document. */
export type SegmentWithChunks = {
  /** Parent chunk ID. */
  id: string;
  /** Position in the document. */
  position: number;
  /** Text. */
  content: string;
  /** Number of words. */
  word_count: number;
  /** Number of its child chunks. */
  child_chunk_count: number;
  /** With `include=child_chunks`: its child chunks, by position; null if those of the page are too many for one response. */
  child_chunks?: ChildChunk[] | null | undefined;
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
        /** Mode. */
        mode: string | null;
        /** Rules. */
        rules: Record<string, unknown> | null;
      }
    | undefined;
  /** Processing rule of the document. */
  document_process_rule?: Record<string, unknown> | null | undefined;
  /** Name. */
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
  /** Error. */
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

export type Tag = {
  /** Tag ID. */
  id: string;
  /** Name. */
  name: string;
  /** Type. */
  type: string;
};

/** Requests to this instance in the last hour. */
export type Traffic = {
  /** Length of an interval. */
  interval_seconds: number;
  /** Complete intervals of the last hour, oldest first. */
  data: TrafficInterval[];
  upstream?: UpstreamStatistics | undefined;
};

export type TrafficInterval = {
  /** Start of the interval. Unix epoch seconds. */
  at: number;
  /** Number of requests. */
  requests: number;
  /** Requests with a status from 400 to 499. */
  client_errors: number;
  /** Requests with a status of 500 or above. */
  server_errors: number;
  /** Milliseconds within which half of the requests were completed; null without requests. */
  p50: number | null;
  /** Milliseconds within which 90 % of the requests were completed; null without requests. */
  p90: number | null;
  /** Milliseconds within which 99 % of the requests were completed; null without requests. */
  p99: number | null;
};

/** If there is an upstream: its requests since the start of this instance. */
export type UpstreamStatistics = {
  /** Requests to `/v1/…` that this instance has responded to itself. */
  served_here: number;
  /** Requests that were passed on. */
  passed_on: number;
  /** Requests that were passed on because something is in doubt here. */
  in_doubt: number;
  /** Requests that were passed on and got no response. */
  errors: number;
  /** Milliseconds until a response of the upstream begins, on average; null without one. */
  response_millis: number | null;
  /** Objects in doubt; null if not known, or if the upstream does not own the data. */
  doubts: number | null;
  /** How far the follower is behind; null if nothing is followed. */
  messages_lag_seconds: number | null;
  /** The same for everything but messages. */
  others_lag_seconds: number | null;
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

export type WholeModelProvider = {
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
  /** All its models. */
  models: Model[];
  /** Workspace identifier. */
  tenant_id: string;
};

/** A workspace. */
export type Workspace = {
  /** Workspace ID. */
  id: string;
  /** Name. */
  name: string;
};
