import { listOf } from '../../contract/admin.ts';
import { ActivityListed, ActivityQuery } from '../../contract/audit.ts';
import { Overview, OverviewQuery } from '../../contract/console/activity.ts';
import { allows } from '../../contract/people/roles.ts';
import { listActivity } from '../../domain/activity/list-activity.ts';
import { findOverview } from '../../domain/activity/overview.ts';
import { knowledgeTools } from './knowledge-tools.ts';
import { messageTools } from './message-tools.ts';
import { reviewTools } from './review-tools.ts';
import { type AgentCaller, defineTool, type Tool } from './tool.ts';

const overview = defineTool({
  name: 'overview',
  title: 'Get totals of a period',
  description:
    'Messages, users, ratings, failures, tokens and prices of a period (`totals`) and of the equally long period before it ' +
    '(`before`), by day or hour, app, user and model. Use it to see what has changed before looking at single answers.',
  kinds: ['admin'],
  operation: 'getOverview',
  input: OverviewQuery.properties,
  output: Overview.properties,
  run: (query, { dependencies, now, disconnected }) => findOverview(dependencies.store, query, now, disconnected()),
});

const listChanges = defineTool({
  name: 'list_changes',
  title: 'List changes',
  description:
    'The audit log, newest first: who has created, edited, deleted or imported what, with which key and tool. Use it to find out ' +
    'when a chunk was changed and by whom. A page may be short although more follow: see `has_more`.',
  kinds: ['admin'],
  operation: 'listActivity',
  input: ActivityQuery.properties,
  output: listOf(ActivityListed).properties,
  run: (query, { dependencies }) => listActivity(dependencies.store, query),
});

/** Every tool. A name may occur once for each kind of key. */
export const tools: readonly Tool[] = [...messageTools, ...reviewTools, overview, ...knowledgeTools, listChanges];

/** The tools that a key allows. For the others it is as if they did not exist. */
export const toolsFor = (caller: AgentCaller): Tool[] =>
  tools.filter(({ kinds, operation = '', isWrite }) => {
    const mayCall = caller.kind === 'admin' ? allows(caller.role, operation) : true;
    return kinds.includes(caller.kind) && mayCall && !(isWrite && caller.read_only);
  });
