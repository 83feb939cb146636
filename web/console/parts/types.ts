/** Types of the service's responses, as its OpenAPI document defines them. */
export type {
  Activity,
  AgentThought,
  App,
  Change,
  ChangePage,
  ChildChunk,
  ChildChunkRevision,
  ConsoleSession,
  Conversation,
  ConversationSummary,
  CreatedKey,
  Dataset,
  Document,
  FeedbackTexts,
  FormDefinition,
  FormInput,
  HumanInputContent,
  Key,
  LocatedPage,
  Message,
  MessageFile,
  MessagePage,
  Model,
  RetrieverResource,
  Segment,
  Traffic,
  TrafficInterval,
  Usage,
  WholeModelProvider,
  Workspace,
} from '../../../client/src/types.ts';
export type SearchHit = {
  app_id: string;
  conversation_id: string;
  message_id: string;
  created_at: number;
  user: string | null;
  snippet: string;
  ranges: number[][];
};
export type SearchCounts = {
  max: number;
  all: number;
  disliked: number;
  failed: number;
  files: number;
  waiting_form: number;
  citations: number;
};
