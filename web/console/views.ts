import type { ComponentType } from '../shared/dom.ts';
import type { IconName } from '../shared/icon.ts';
import type { ViewProps } from './state/route.ts';

/** A hidden view is not in the menu. */
type View = { title: string; icon: IconName; load: () => Promise<ComponentType<ViewProps>>; isHidden?: boolean };

/** The views in the order of the menu, by the first part of their addresses. The first one is the start. */
export const views = {
  overview: {
    title: 'Overview',
    icon: 'overview',
    load: async () => (await import('./overview/overview.ts')).OverviewView,
  },
  conversations: {
    title: 'Conversations',
    icon: 'conversations',
    load: async () => (await import('./conversations/conversations.ts')).ConversationsView,
  },
  users: { title: 'Users', icon: 'users', load: async () => (await import('./users/users.ts')).UsersView },
  knowledge: {
    title: 'Knowledge',
    icon: 'knowledge',
    load: async () => (await import('./knowledge/knowledge.ts')).KnowledgeView,
  },
  models: { title: 'Models', icon: 'models', load: async () => (await import('./models/models.ts')).ModelsView },
  keys: { title: 'Keys', icon: 'keys', load: async () => (await import('./keys/keys.ts')).KeysView },
  activity: {
    title: 'Activity',
    icon: 'activity',
    load: async () => (await import('./activity/activity.ts')).ActivityView,
  },
  start: {
    title: 'First steps',
    icon: 'check',
    load: async () => (await import('./first-steps/start.ts')).StartView,
    isHidden: true,
  },
} satisfies Record<string, View>;

export type ViewName = keyof typeof views;
export const menu = (Object.keys(views) as ViewName[]).filter((name) => !('isHidden' in views[name]));
export const startView = menu[0] as ViewName;

/** The letter behind `g` that leads to a view. */
export const viewLetters: Record<ViewName, string> = {
  ...{
    overview: 'o',
    conversations: 'c',
    users: 'u',
    knowledge: 'k',
    models: 'm',
    keys: 'y',
    activity: 'a',
    start: 's',
  },
};

export const isView = (name: string | undefined): name is ViewName => name !== undefined && Object.hasOwn(views, name);
