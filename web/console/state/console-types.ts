// Written by `npm run types` from openapi.json.

import type { ChildChunk, Model } from '../../../client/src/types.ts';

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
  action: 'import' | 'create' | 'update' | 'delete' | 'revoke' | 'purge' | 'retain';
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
  /** App of an erasure; null for other actions. */
  app_id: string | null;
  /** Name of that app now; null if it does not exist. */
  app_name: string | null;
  /** Number of messages of an erasure; null for other actions. */
  messages: number | null;
  /** When the files of the embedded database had no copies of the erased texts any more; null until then, for other actions, and on PostgreSQL. Unix epoch seconds. */
  cleaned_at: number | null;
  /** The first 10 of them. */
  records: NamedRecord[];
  /** The tool that an agent called; null for all other requests. */
  tool: string | null;
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

/** The retention of an app. */
export type AppRetention = {
  /** App ID. */
  app_id: string;
  /** Period in force, in days: that of the app, else `RETENTION_DAYS`; null if none. */
  retention_days: number | null;
  /** Number of conversations that the next run erases. */
  conversations_due: number;
  /** Last activity of the conversation without activity for the longest time, of those not on hold. Unix epoch seconds. */
  oldest_activity: number | null;
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
  /** Role of the key. `x-role` of an operation is the role that it needs. */
  role: 'viewer' | 'editor' | 'admin';
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
  /** Time of the last change of the record, or of a child chunk in it by a request that is still in the audit log; null if unknown. Unix epoch seconds. */
  changed_at: number | null;
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
  /** Time of the last change of the record, or of a child chunk in it by a request that is still in the audit log; null if unknown. Unix epoch seconds. */
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
  /** Time of the last change of the record, or of a child chunk in it by a request that is still in the audit log; null if unknown. Unix epoch seconds. */
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
  /** Time of the first one. Since then, no hour passed without one. Unix epoch seconds. */
  first_at: number;
  /** The last one. Unix epoch seconds. */
  last_at: number;
  /** `X-Request-Id` of the last one: the log has a line with it. */
  request_id: string;
  /** Error code of the last one; null if its response has none. */
  code: string | null;
  /** Error message of the last one, without values of the request; with the path if the route does not say it. */
  message: string;
};

/** Responses with a status of 400 or above. */
export type Failures = {
  /** The latest 100 kinds of failure of this instance in the last hour, latest first. */
  data: Failure[];
  /** Failed requests to all instances in the last 24 hours by key, most errors first. Those of the console do not count. */
  by_key: KeyErrors[];
};

export type FeedbackText = {
  /** Message ID. */
  message_id: string;
  /** Text of the feedback; at most the first 10000 characters. */
  content: string;
};

export type FeedbackTexts = {
  /** One entry for each of the messages that has a text, oldest message first. */
  data: FeedbackText[];
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
  /** Role of a key of kind admin; null for other kinds. */
  role: 'viewer' | 'editor' | 'admin' | null;
};

/** A change of a key: at least one field. */
export type KeyChange = {
  /** Whether the key allows only reads. Only for kind app or knowledge or admin. */
  read_only?: boolean | undefined;
  /** What the key may do. Only for kind admin. Default: admin. */
  role?: 'viewer' | 'editor' | 'admin' | undefined;
};

export type KeyErrorHour = {
  /** Start of the hour. Unix epoch seconds. */
  at: number;
  /** Requests with a status from 400 to 499. */
  client_errors: number;
  /** Requests with a status of 500 or above. */
  server_errors: number;
};

export type KeyErrors = {
  /** ID of the key. */
  key_id: string;
  /** Name of the key; null if it no longer exists. */
  key_name: string | null;
  /** Requests with a status from 400 to 499. */
  client_errors: number;
  /** Requests with a status of 500 or above. */
  server_errors: number;
  /** The hours with failed requests, oldest first. */
  hours: KeyErrorHour[];
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
  /** Position of the segment in the document. */
  segment_position: number;
  /** Child chunk ID; null if the segment itself is meant. */
  child_chunk_id: string | null;
  /** Position of the child chunk in the segment; null without a child chunk. */
  child_chunk_position: number | null;
  /** Part of the text around the first match; without one, its beginning. */
  snippet: string;
  /** Matches in the snippet: start and end, in UTF-16 units. */
  ranges: number[][];
};

export type LocatedPage = {
  /** `first_id` of the page. Null: the newest page has the message. */
  first_id: string | null;
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
  /** What the key may do. Only for kind admin. Default: admin. */
  role?: 'viewer' | 'editor' | 'admin' | undefined;
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
  /** The 50 models with the most messages, most messages first. */
  models: OverviewModel[];
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
  /** Number of different users. */
  users: number;
  /** Sums of their prices by currency, in the order of the currencies: the 20 with the most messages. */
  prices: Price[];
};

export type OverviewModel = {
  /** Provider of the model; null if it is not known. */
  model_provider: string | null;
  /** Model that answered; null if it is not known. */
  model: string | null;
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
  /** Number of different users. */
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

/** The retention of all apps. */
export type Retention = {
  /** All apps, by id. */
  data: AppRetention[];
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
  /** If nothing is found: `q` with one word replaced by a similar one that messages have; null if there is none. */
  suggestion: string | null;
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
  /** Requests to `/v1/…` that Backscroll responded to itself. */
  served: number;
  /** Requests that were passed on. */
  passed_on: number;
  /** Requests that were passed on because data in Backscroll is in doubt. */
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
