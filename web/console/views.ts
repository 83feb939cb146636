import type { IconName } from '../shared/controls.ts';
import type { ComponentType } from '../shared/dom.ts';
import type { ViewProps } from './state/route.ts';

type Load = () => Promise<{ View: ComponentType<ViewProps> }>;
/** The module of a view is loaded when the view is first shown. `g` and the letter lead to it. */
type View = { title: string; icon: IconName; letter: string; load: Load };
const view = (title: string, icon: IconName, letter: string, load: Load): View => ({ title, icon, letter, load });

/** The views in the order of the menu, by the first part of their addresses. The first one is the start. */
export const views = {
  overview: view('Overview', 'overview', 'o', () => import('./overview/overview.ts')),
  conversations: view('Conversations', 'conversations', 'c', () => import('./conversations/conversations.ts')),
  users: view('Users', 'users', 'u', () => import('./users/users.ts')),
  knowledge: view('Knowledge', 'knowledge', 'k', () => import('./knowledge/knowledge.ts')),
  models: view('Models', 'models', 'm', () => import('./models/models.ts')),
  keys: view('Keys', 'keys', 'y', () => import('./keys/keys.ts')),
  activity: view('Activity', 'activity', 'a', () => import('./activity/activity.ts')),
  start: view('First steps', 'check', 's', () => import('./first-steps/start.ts')),
};

export type ViewName = keyof typeof views;
/** The first steps are in the menu only until they are done. */
export const menu = (Object.keys(views) as ViewName[]).filter((name) => name !== 'start');
export const startView: ViewName = 'overview';

export const isView = (name: string | undefined): name is ViewName => name !== undefined && Object.hasOwn(views, name);
