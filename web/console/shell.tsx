import type { ComponentChildren } from 'preact';
import { useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { allows } from '../../server/src/contract/people/roles.ts';
import { Button, Icon, Mark, Select, SkipLink } from '../shared/controls.tsx';
import { Lazy } from '../shared/lazy.tsx';
import { ThemeChoice } from '../shared/settings.tsx';
import { readSetting } from '../shared/stored.ts';
import { Menu } from './components/menu.tsx';
import { SavedViews } from './components/saved-views.tsx';
import { ScopeBar } from './components/scope-bar.tsx';
import { ErrorNote } from './components/ui.tsx';
import type { FinderProps } from './finder.tsx';
import { HealthDot } from './overview/verdicts.tsx';
import { request } from './state/api.ts';
import { mayLeave } from './state/drafts.ts';
import { hrefOf, hrefWith, readRoute, useFilters, useRoute, type ViewProps } from './state/route.ts';
import { firstStepsPlace, rememberedScope, viewsWithApp } from './state/scope.ts';
import { ShortcutHelp, showFinder, showShortcuts, useShortcut } from './state/shortcuts.tsx';
import { localZone, storeZone, zone } from './state/times.ts';
import type { ConsoleSession } from './state/types.ts';
import { isView, menu, startView, type ViewName, views } from './views.ts';

/** The frame around the views: the menu of the views, and that of the account. */
export function Shell({ session, signOut }: { session: ConsoleSession; signOut: () => void }) {
  const [first, ...rest] = useRoute();
  // The links to the views have the scope that was chosen last.
  const { app_id, days, from, to } = useFilters().filters;
  const isNarrowed = [app_id, days, from, to].some((value) => value !== undefined);
  const name = isView(first) ? first : startView;
  const hasScope = viewsWithApp.includes(name) && (name === 'conversations' || rest.length === 0);
  const main = useRef<HTMLElement>(null);
  // Before the view reads the address.
  useLayoutEffect(() => {
    if (!isView(readRoute()[0])) location.replace(hrefOf(startView));
  }, [first]);
  useEffect(() => void showFirstSteps(), []);
  const hasPeople = document.documentElement.dataset.oidc !== undefined;
  const allowed = menu.filter((name) => allows(session.role, views[name].needs) && (name !== 'people' || hasPeople));
  const shown: ViewName[] = readSetting(firstStepsPlace) === 'open' ? [...allowed, 'start'] : allowed;
  const link = (to: ViewName) => {
    const { title, icon, load } = views[to];
    // Its module is loaded by the time of the click.
    const preload = () => void load().catch(() => undefined);
    const current = { 'aria-current': to === name ? 'page' : undefined } as const;
    const href = hrefWith([to], rememberedScope(to));
    return (
      <a key={to} class="entry" href={href} {...current} onPointerEnter={preload} onFocus={preload}>
        <Icon name={icon} />
        {title}
      </a>
    );
  };
  return (
    <div class="shell">
      <SkipLink skip={() => main.current?.focus()} />
      <header class="top row">
        <a class="brand" href={hrefOf(startView)}>
          <Mark />
          Backscroll
        </a>
        <Menu class="views" label="Menu" icon="menu">
          <nav aria-label="Views">{shown.map(link)}</nav>
        </Menu>
        {hasScope && (
          <Menu class={`sheet scope ${isNarrowed ? 'set' : ''}`} label="App and period" icon="filter">
            <ScopeBar view={name} />
          </Menu>
        )}
        <HealthDot />
        <SavedViews />
        <Button class="quiet" title="Go to anything" onClick={showFinder}>
          <Icon name="search" />
          <span class="hidden-label">Go to</span>
          <kbd>Ctrl K</kbd>
        </Button>
        <Menu class="account" label="Account" icon="account">
          <p class="soft">{session.person_id === null ? 'Signed in with the key' : 'Signed in as'}</p>
          <p title={session.person_id === null ? `key ${session.key_id}` : `person ${session.person_id}`}>
            <strong>{session.name || session.key_id}</strong>
          </p>
          <a class="entry" href={hrefOf('apps')}>
            Apps and retention
          </a>
          <a class="entry" href={hrefOf('start')}>
            First steps
          </a>
          <a class="entry" href="/docs">
            API reference
          </a>
          <Button class="quiet entry" onClick={showShortcuts}>
            Keyboard shortcuts <kbd>?</kbd>
          </Button>
          <ThemeChoice isLabelled />
          {localZone !== 'UTC' && <ZoneChoice />}
          <Button onClick={() => mayLeave() && signOut()}>Sign out</Button>
        </Menu>
      </header>
      <ShortcutHelp />
      <FinderKey session={session} />
      {allowed.map((to) => (
        <ViewKey key={to} to={to} />
      ))}
      <main id="main" tabIndex={-1} ref={main}>
        <ViewBoundary key={name} place={hrefOf(name, ...rest)}>
          <Lazy<ViewProps> load={views[name].load} props={{ rest, session }} />
        </ViewBoundary>
      </main>
    </div>
  );
}

/** The page is loaded again: every time on it changes. */
const ZoneChoice = () => (
  <Select
    class="setting"
    label="Times"
    value={zone}
    options={[
      [localZone, `Local, ${localZone}`],
      ['UTC', 'UTC'],
    ]}
    change={(chosen) => {
      if (!mayLeave()) return;
      storeZone(chosen === 'UTC' ? chosen : null);
      location.reload();
    }}
  />
);

/** `g` and the letter of a view lead to it. */
function ViewKey({ to }: { to: ViewName }) {
  useShortcut(`g ${views[to].letter}`, views[to].title, () => {
    location.hash = hrefWith([to], rememberedScope(to));
  });
  return null;
}

function FinderKey({ session }: { session: ConsoleSession }) {
  const [isOpen, setOpen] = useState(false);
  useShortcut('Ctrl+K', 'Go to anything', () => setOpen(true));
  return isOpen ? <Lazy<FinderProps> load={loadFinder} props={{ session, close: () => setOpen(false) }} /> : null;
}
const loadFinder = () => import('./finder.tsx');

/** Shows the error of a view that throws, until the user tries again or goes to another view. The other views still work. */
function ViewBoundary({ place, children }: { place: string; children?: ComponentChildren }) {
  // With its stack, for debugging.
  const [error, reset] = useErrorBoundary((error: unknown) => console.error(error));
  const shownPlace = useRef(place);
  useLayoutEffect(() => {
    if (shownPlace.current !== place) reset();
    shownPlace.current = place;
  }, [place]);
  if (error === undefined) return children;
  const message = error instanceof Error ? error.message : String(error);
  return <ErrorNote error={new Error(`This view cannot be shown: ${message}`)} retry={reset} />;
}

/** Leads from the start to the first steps while there is no conversation. */
async function showFirstSteps(): Promise<void> {
  const isAtStart = () => hrefOf(...readRoute()) === hrefOf(startView);
  if (!isAtStart()) return;
  // The view reports an error.
  const page = await request<{ data: unknown[] }>('/admin/conversations?limit=1').catch(() => undefined);
  if (page?.body.data.length === 0 && isAtStart()) location.replace(hrefOf('start'));
}
