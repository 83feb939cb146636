/** Types of the service's responses, from its contract. */

import type { ProviderListed } from '../../../server/src/contract/admin.ts';
import type { Overview } from '../../../server/src/contract/console/activity.ts';
import type { Failures, Traffic } from '../../../server/src/contract/console/traffic.ts';
import type { Message } from '../../../server/src/contract/message.ts';

export type {
  AppListed as App,
  ConsoleSession,
  CreatedKey,
  KeyWithRequests as Key,
  ProviderListed as WholeModelProvider,
  WorkspaceListed as Workspace,
} from '../../../server/src/contract/admin.ts';
export type { ActivityListed as Activity, ReadListed as Read } from '../../../server/src/contract/audit.ts';
export type { Change, ChangePage } from '../../../server/src/contract/change.ts';
export type { ChildChunk } from '../../../server/src/contract/child-chunk.ts';
export type {
  ConversationListed as Conversation,
  ConversationSummary,
  LocatedPage,
  MessageDetails,
  Overview,
  OverviewPoint,
  OverviewTotals,
} from '../../../server/src/contract/console/activity.ts';
export type { HealthReport } from '../../../server/src/contract/console/health.ts';
export type {
  DatasetCited as Dataset,
  DocumentCited as Document,
  DocumentShown,
  RevisionListed as ChildChunkRevision,
  SegmentWithChunks,
  WorstTexts,
} from '../../../server/src/contract/console/knowledge.ts';
export type {
  ReviewCounts,
  ReviewListed,
  ReviewResponse as Review,
} from '../../../server/src/contract/console/reviews.ts';
export type { SavedView } from '../../../server/src/contract/console/saved-views.ts';
export type { KnowledgeHit, SearchCounts, SearchHit } from '../../../server/src/contract/console/search.ts';
export type { Failures, Traffic, UpstreamStatistics } from '../../../server/src/contract/console/traffic.ts';
export type { UserListed as User } from '../../../server/src/contract/console/users.ts';
export type { Purged, Retention } from '../../../server/src/contract/erasure.ts';
export type { Message, MessagePage } from '../../../server/src/contract/message.ts';

export type Model = ProviderListed['models'][number];
export type TrafficInterval = Traffic['data'][number];
export type Failure = Failures['data'][number];
export type KeyErrors = Failures['by_key'][number];

export type OverviewApp = Overview['apps'][number];
export type OverviewUser = Overview['users'][number];

export type AgentThought = Message['agent_thoughts'][number];
export type HumanInputContent = Message['extra_contents'][number];
export type FormDefinition = NonNullable<HumanInputContent['form_definition']>;
export type FormInput = FormDefinition['inputs'][number];
export type MessageFile = Message['message_files'][number];
export type RetrieverResource = Message['retriever_resources'][number];
export type { PersonListed as Person } from '../../../server/src/contract/people/people.ts';
