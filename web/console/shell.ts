import { Icon, Mark } from '../shared/controls.ts';
import { button, el, h, useEffect, useLayoutEffect, useRef, useState } from '../shared/dom.ts';
import { readSetting, ThemeChoice } from '../shared/settings.ts';
import { Menu } from './components/menu.ts';
import { ScopeBar } from './components/scope-bar.ts';
import type { FinderProps } from './finder.ts';
import { Lazy } from './lazy.ts';
import { request } from './state/api.ts';
import { mayLeave } from './state/drafts.ts';
import { hrefOf, hrefWith, readRoute, useFilters, useRoute, type ViewProps } from './state/route.ts';
import { firstStepsPlace, rememberedScope, viewsWithApp } from './state/scope.ts';
import { ShortcutHelp, showFinder, showShortcuts, useShortcut } from './state/shortcuts.ts';
import { zone } from './state/times.ts';
import type { ConsoleSession } from './state/types.ts';
import { ViewBoundary } from './view-boundary.ts';
import { isView, menu, startView, type ViewName, views } from './views.ts';

export type ShellProps = { session: ConsoleSession; signOut: () => void };

/** The frame around the views: the menu of the views, and that of the account. */
export function Shell({ session, signOut }: ShellProps) {
  const [first, ...rest] = useRoute();
  // The links to the views have the scope that was chosen last.
  useFilters();
  const name = isView(first) ? first : startView;
  const hasScope = viewsWithApp.includes(name) && (name === 'conversations' || rest.length === 0);
  const main = useRef<HTMLElement>(null);
  // Before the view reads the address.
  useLayoutEffect(() => {
    if (!isView(readRoute()[0])) location.replace(hrefOf(startView));
  }, [first]);
  useEffect(() => void showFirstSteps(), []);
  const shown: ViewName[] = readSetting(firstStepsPlace) === 'open' ? [...menu, 'start'] : menu;
  const toMain = (event: Event) => {
    event.preventDefault();
    main.current?.focus();
  };
  const link = (to: ViewName) => {
    const { title, icon, load } = views[to];
    // Its module is loaded by the time of the click.
    const preload = () => void load().catch(() => undefined);
    const current = to === name ? 'page' : undefined;
    const href = hrefWith([to], rememberedScope(to));
    const on = { onPointerEnter: preload, onFocus: preload };
    return h('a', { key: to, class: 'entry', href, 'aria-current': current, ...on }, [h(Icon, { name: icon }), title]);
  };
  return el('div.shell', [
    h('a', { class: 'skip', href: '#main', onClick: toMain }, 'Skip to content'),
    el('header.top.row', [
      h('a', { class: 'brand', href: hrefOf(startView) }, h(Mark, null), 'Backscroll'),
      h(Menu, { class: 'views', label: 'Menu', icon: 'menu' }, h('nav', { 'aria-label': 'Views' }, shown.map(link))),
      h('span', { class: 'at-end soft small', title: `All times are in ${zone}.` }, zone),
      hasScope && el('div.scope.row', h(ScopeBar, { view: name })),
      button({ class: 'quiet', title: 'Go to anything', onClick: showFinder }, [
        h(Icon, { name: 'search' }),
        el('span.hidden-label', 'Go to'),
        el('kbd', 'Ctrl K'),
      ]),
      h(Menu, { class: 'account', label: 'Account', icon: 'account' }, [
        el('p.soft', 'Signed in with the key'),
        h('p', { title: `key ${session.key_id}` }, el('strong', session.name || session.key_id)),
        h('a', { class: 'entry', href: hrefOf('start') }, 'First steps'),
        h('a', { class: 'entry', href: '/docs' }, 'API reference'),
        button({ class: 'quiet entry', onClick: showShortcuts }, 'Keyboard shortcuts ', el('kbd', '?')),
        h(ThemeChoice, { isLabelled: true }),
        button({ onClick: () => mayLeave() && signOut() }, 'Sign out'),
      ]),
    ]),
    h(ShortcutHelp, null),
    h(FinderKey, null),
    menu.map((to) => h(ViewKey, { key: to, to })),
    h('main', { id: 'main', tabIndex: -1, ref: main }, [
      h(ViewBoundary, { key: name, place: hrefOf(name, ...rest) }, [
        h(Lazy<ViewProps>, { load: views[name].load, props: { rest, session } }),
      ]),
    ]),
  ]);
}

/** `g` and the letter of a view lead to it. */
function ViewKey({ to }: { to: ViewName }) {
  useShortcut(`g ${views[to].letter}`, views[to].title, () => {
    location.hash = hrefWith([to], rememberedScope(to));
  });
  return null;
}

function FinderKey() {
  const [isOpen, setOpen] = useState(false);
  useShortcut('Ctrl+K', 'Go to anything', () => setOpen(true));
  return isOpen ? h(Lazy<FinderProps>, { load: loadFinder, props: { close: () => setOpen(false) } }) : null;
}
const loadFinder = () => import('./finder.ts');

/** Leads from the start to the first steps while there is no conversation. */
async function showFirstSteps(): Promise<void> {
  const isAtStart = () => hrefOf(...readRoute()) === hrefOf(startView);
  if (!isAtStart()) return;
  // The view reports an error.
  const page = await request<{ data: unknown[] }>('/admin/conversations?limit=1').catch(() => undefined);
  if (page?.body.data.length === 0 && isAtStart()) location.replace(hrefOf('start'));
}
