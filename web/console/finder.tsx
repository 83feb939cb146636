import { useEffect, useId, useState } from 'preact/hooks';
import { type AdminOperation, allows } from '../../server/src/contract/people/roles.ts';
import { Icon, type IconName } from '../shared/controls.tsx';
import { chooseTheme, themes } from '../shared/settings.tsx';
import { Dialog } from './components/action-dialog.tsx';
import { Marked, matchesIn, plain, wordsOf } from './components/marked-text.tsx';
import { type CursorPage, useAll, useReading } from './hooks/requests.ts';
import { useSettled } from './hooks/use-settled.ts';
import { hrefOfHit, withoutRepeats } from './knowledge/level.tsx';
import { pathOf, request } from './state/api.ts';
import { recentPlaces } from './state/places.ts';
import { hrefOf, hrefWith } from './state/route.ts';
import type { App, ConsoleSession, Dataset, KnowledgeHit, SavedView, SearchHit, User } from './state/types.ts';
import { views } from './views.ts';

type Entry = { id?: string; text: string; icon: IconName; detail?: string } & (
  | { href: string }
  | { run: () => void }
  /** The finder asks for a user, who is then erased. */
  | { asks: 'user' }
);
/** Entries of one kind. Those with a name are before those with a text. */
type Group = { title: string; entries: readonly Entry[] };

export type FinderProps = { session: ConsoleSession; close: () => void };

/** So many entries of a kind are shown. */
const shownOfKind = 4;

/** Leads to views, apps, users, knowledge bases, documents, messages and ids, by what the user types, and offers actions. */
export function View({ session, close }: FinderProps) {
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState(0);
  const [isErasing, setErasing] = useState(false);
  const id = useId();
  const q = typed.trim();
  const settled = useSettled(q);
  const { body: found = [] } = useReading(`${isErasing} ${settled}`, (signal) =>
    isErasing ? findUsers(settled, signal, { erase: 'user' }) : find(settled, signal),
  );
  const messages: Entry = {
    icon: 'search',
    text: `All messages with “${q}”`,
    href: hrefWith(['conversations'], { q }),
  };
  const search = { title: 'Search', entries: q === '' ? [] : [messages] };
  const named = useNamed(q, session);
  const current = settled === q ? found : [];
  const all = isErasing ? current : [...named, ...current, search];
  const groups = all.filter((group) => group.entries.length > 0);
  const entries = groups.flatMap((group) => group.entries);
  const at = Math.min(chosen, entries.length - 1);
  const open = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    if ('asks' in entry) {
      setErasing(true);
      setTyped('');
      setChosen(0);
      return;
    }
    close();
    if ('run' in entry) entry.run();
    else location.hash = entry.href;
  };
  const prompt = isErasing ? 'Name of the user, or a part of it' : 'Go to a view, user, app, document or ID';
  useEffect(() => document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: 'nearest' }), [at]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing || !['ArrowDown', 'ArrowUp', 'Enter'].includes(event.key)) return;
    event.preventDefault();
    if (event.key === 'Enter') open(entries[at]);
    else setChosen((at + (event.key === 'ArrowDown' ? 1 : entries.length - 1)) % entries.length);
  };
  return (
    <Dialog title={isErasing ? 'Erase a user' : 'Go to'} close={close}>
      <span class="search-box finder">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          autoFocus
          autoComplete="off"
          aria-label={prompt}
          placeholder={prompt}
          aria-expanded={true}
          aria-controls={id}
          aria-activedescendant={`${id}-${at}`}
          value={typed}
          onKeyDown={onKeyDown}
          onInput={({ currentTarget }) => {
            setTyped(currentTarget.value);
            setChosen(0);
          }}
        />
      </span>
      <div id={id} class="found" role="listbox" aria-label="Places">
        {groups.map(({ title, entries: ofKind }) => (
          <div key={title} role="group" aria-label={title}>
            {/* biome-ignore lint/a11y/useHeadingContent: the group has this name */}
            <h3 class="soft small" aria-hidden="true">
              {title}
            </h3>
            {ofKind.map((entry) => {
              const n = entries.indexOf(entry);
              return (
                // biome-ignore lint/a11y: the focus stays in the field, whose keys choose an option
                <div
                  key={`${n}`}
                  id={`${id}-${n}`}
                  class="entry place"
                  role="option"
                  aria-selected={n === at}
                  onClick={() => open(entry)}
                >
                  <Icon name={entry.icon} />
                  <span class="one-line">
                    <Marked text={entry.text} ranges={rangesOf(entry.text, q)} />
                  </span>
                  <span class="soft small one-line">{entry.detail}</span>
                </div>
              );
            })}
          </div>
        ))}
      </div>
      <p class="finder-keys soft small">
        <span>
          <kbd>↑</kbd>
          <kbd>↓</kbd> Move
        </span>
        <span>
          <kbd>Enter</kbd> Open
        </span>
        <span>
          <kbd>Esc</kbd> Close
        </span>
      </p>
    </Dialog>
  );
}

/** The text from a few words before the match on: the entry has one line. */
function fromWords(text: string, q: string): string {
  const [first] = rangesOf(text, q);
  const at = first?.[0] ?? 0;
  return at > 24 ? `…${text.slice(at - 16, at).replace(/^\S*\s+/, '')}${text.slice(at)}` : text;
}

/** A name may contain the text anywhere; the words of other texts begin with it. */
function rangesOf(text: string, q: string): readonly (readonly number[])[] {
  const at = q === '' ? -1 : text.toLowerCase().indexOf(q.toLowerCase());
  return at < 0 || /\s/.test(q) ? matchesIn(text, wordsOf(q)) : [[at, at + q.length]];
}

/** Views, actions, apps and knowledge bases whose name or id contains the text; without one, also the recent places. */
function useNamed(q: string, { role, read_only }: ConsoleSession): Group[] {
  const [apps, datasets] = [useAll<App>('/admin/apps').rows, useAll<Dataset>('/admin/datasets').rows];
  const saved = useAll<SavedView>('/admin/views').rows;
  const part = q.toLowerCase();
  const group = (title: string, all: readonly Entry[]): Group => ({
    title,
    entries: all
      .filter(({ id, text }) => text.toLowerCase().includes(part) || id === part)
      .slice(0, q === '' ? all.length : shownOfKind),
  });
  const shown = Object.entries(views).filter(([, { needs }]) => allows(role, needs));
  const mine = actions.filter(({ needs }) => needs === undefined || (allows(role, needs) && !read_only));
  const ofId = (icon: IconName, view: string, rows: readonly { id: string; name: string }[]) =>
    rows.map(({ id, name }) => ({ id, text: name || id, icon, href: hrefOf(view, id) }));
  const named = [
    group(
      'Saved views',
      saved.map(({ name, address }) => ({ text: name, icon: 'bookmark', href: address })),
    ),
    group(
      'Views',
      shown.map(([id, { title, icon }]) => ({ id, text: title, icon, href: hrefOf(id) })),
    ),
    group('Actions', mine),
  ];
  if (q === '')
    return [{ title: 'Recent', entries: recentPlaces().map((place) => ({ icon: 'activity', ...place })) }, ...named];
  return [
    ...named,
    group('Apps', ofId('app', 'apps', apps)),
    group('Knowledge bases', ofId('knowledge', 'knowledge', datasets)),
  ];
}

const actions: readonly (Entry & { needs?: AdminOperation })[] = [
  { id: 'key', text: 'New key', needs: 'createKey', icon: 'keys', href: hrefWith(['keys'], { new: 'key' }) },
  { id: 'erase', text: 'Erase user…', needs: 'purge', icon: 'users', asks: 'user' },
  ...themes.map((id) => ({ id, text: `Theme: ${id}`, icon: 'eye', run: () => chooseTheme(id) }) as const),
];

const rowsOf = <T,>(path: string, query: object, signal: AbortSignal): Promise<readonly T[]> =>
  request<CursorPage<T>>(pathOf(['admin', path], { limit: shownOfKind, ...query }), { signal }).then(
    ({ body }) => body.data,
    () => [],
  );

/** `filters`: of the page to which each leads. */
async function findUsers(q: string, signal: AbortSignal, filters: { erase?: 'user' } = {}): Promise<Group[]> {
  const users = await rowsOf<User>('users', { q }, signal);
  const entries = users.map(({ user }) => ({
    icon: 'account' as const,
    text: user,
    href: hrefWith(['users', user], filters),
  }));
  return [{ title: 'Users', entries }];
}

/** Users, documents and messages that the service finds. A search that is turned off finds none. */
async function find(q: string, signal: AbortSignal): Promise<Group[]> {
  if (q === '') return [];
  const [users, passages, messages] = await Promise.all([
    findUsers(q, signal),
    rowsOf<KnowledgeHit>('search', { q, in: 'knowledge' }, signal),
    rowsOf<SearchHit>('search', { q }, signal),
  ]);
  return [
    ...users,
    {
      title: 'Knowledge',
      entries: withoutRepeats(passages).map((hit) => ({
        icon: 'file',
        text: fromWords(plain(hit.snippet), q),
        detail: hit.document_name,
        href: hrefOfHit(hit, q),
      })),
    },
    {
      title: 'Messages',
      entries: messages.map(({ snippet, user, app_id, conversation_id, message_id }) => ({
        icon: 'conversations',
        text: fromWords(plain(snippet), q) || message_id,
        detail: user ?? '',
        href: hrefWith(['conversations', app_id, conversation_id, message_id], { q }),
      })),
    },
  ];
}
