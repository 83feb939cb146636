import type { ComponentType } from 'preact';
import type { AdminOperation } from '../../server/src/contract/people/roles.ts';
import type { IconName } from '../shared/controls.tsx';
import type { ViewProps } from './state/route.ts';

type Load = () => Promise<{ View: ComponentType<ViewProps> }>;
/** The module of a view is loaded when the view is first shown. `g` and the letter lead to it; without a letter it is not in the menu. */
/** `needs`: the operation without which the view is not in the menu. */
type View = { title: string; icon: IconName; letter: string; load: Load; needs: AdminOperation };
const view = (
  title: string,
  icon: IconName,
  letter: string,
  load: Load,
  needs: AdminOperation = 'getSession',
): View => ({ title, icon, letter, load, needs });

/** The views in the order of the menu, by the first part of their addresses. The first one is the start. */
export const views = {
  overview: view('Overview', 'overview', 'o', () => import('./overview/overview.tsx')),
  conversations: view('Conversations', 'conversations', 'c', () => import('./conversations/conversations.tsx')),
  review: view('Review', 'review', 'r', () => import('./review/review.tsx')),
  users: view('Users', 'users', 'u', () => import('./users/users.tsx')),
  knowledge: view('Knowledge', 'knowledge', 'k', () => import('./knowledge/knowledge.tsx')),
  models: view('Models', 'models', 'm', () => import('./models/models.tsx')),
  keys: view('Keys', 'keys', 'y', () => import('./keys/keys.tsx'), 'listKeys'),
  people: view('People', 'users', 'p', () => import('./people/people.tsx'), 'listPeople'),
  activity: view('Activity', 'activity', 'a', () => import('./activity/activity.tsx')),
  apps: view('Apps', 'app', '', () => import('./apps/apps.tsx')),
  start: view('First steps', 'check', '', () => import('./first-steps/start.tsx')),
};

export type ViewName = keyof typeof views;
/** The others are reached from where they are needed: the first steps are in the menu until they are done. */
export const menu = (Object.keys(views) as ViewName[]).filter((name) => views[name].letter !== '');
export const startView: ViewName = 'overview';

export const isView = (name: string | undefined): name is ViewName => name !== undefined && Object.hasOwn(views, name);
