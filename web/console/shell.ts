import { type ComponentChildren, h, useLayoutEffect, useRef } from '../shared/dom.ts';
import { ThemeChoice } from '../shared/theme.ts';
import { ConversationsView } from './conversations/conversations.ts';
import { KeysView } from './keys/keys.ts';
import { KnowledgeView } from './knowledge/knowledge.ts';
import { ModelsView } from './models/models.ts';
import { hrefOf, readRoute, useRoute } from './parts/route.ts';
import { ShortcutHelp } from './parts/shortcuts.ts';
import { zone } from './parts/times.ts';
import type { ConsoleSession } from './parts/types.ts';
import { PulseView } from './pulse/pulse.ts';
import { ViewBoundary } from './view-boundary.ts';

const views = {
  conversations: { title: 'Conversations', view: ConversationsView },
  knowledge: { title: 'Knowledge', view: KnowledgeView },
  models: { title: 'Models', view: ModelsView },
  keys: { title: 'Keys', view: KeysView },
  pulse: { title: 'Pulse', view: PulseView },
} as const;

const isView = (name: string | undefined): name is keyof typeof views =>
  name !== undefined && Object.hasOwn(views, name);

/** The frame around the views: the menu, the name of the key, and the button to sign out. */
export function Shell({ session, leave }: { session: ConsoleSession; leave: () => void }) {
  const [first, ...rest] = useRoute();
  const name = isView(first) ? first : 'conversations';
  const { view } = views[name];
  const main = useRef<HTMLElement>(null);
  // Before the view reads the address.
  useLayoutEffect(() => {
    if (!isView(readRoute()[0])) location.replace(hrefOf('conversations'));
  }, [first]);
  const toMain = (event: Event) => {
    event.preventDefault();
    main.current?.focus();
  };
  const link = (to: keyof typeof views): ComponentChildren =>
    h('a', { href: hrefOf(to), 'aria-current': to === name ? 'page' : undefined }, views[to].title);
  return h(
    'div',
    { class: 'shell' },
    h('a', { class: 'skip', href: '#main', onClick: toMain }, 'Skip to content'),
    h(
      'header',
      { class: 'top' },
      h('a', { class: 'brand', href: hrefOf('conversations') }, 'Backscroll'),
      h('nav', { 'aria-label': 'Views' }, (Object.keys(views) as (keyof typeof views)[]).map(link)),
      h(
        'div',
        { class: 'account' },
        h('span', { class: 'soft', title: `All times are in ${zone}.` }, zone),
        h('span', { class: 'soft', title: `key ${session.key_id}` }, session.name || 'admin key'),
        h('a', { href: '/docs' }, 'API'),
        h(ThemeChoice, null),
        h('button', { type: 'button', onClick: leave }, 'Sign out'),
      ),
    ),
    h(ShortcutHelp, null),
    h(
      'main',
      { id: 'main', tabIndex: -1, ref: main },
      h(ViewBoundary, { key: name, place: hrefOf(name, ...rest) }, h(view, { rest, session })),
    ),
  );
}
