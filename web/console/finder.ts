import { el, h, useId, useState } from '../shared/dom.ts';
import { Icon, type IconName } from '../shared/icon.ts';
import { plain } from './components/marked-text.ts';
import { Dialog } from './components/ui.ts';
import { useAll } from './hooks/use-all.ts';
import type { CursorPage } from './hooks/use-list.ts';
import { useReading } from './hooks/use-reading.ts';
import { useSettled } from './hooks/use-settled.ts';
import { pathOf, request } from './state/api.ts';
import { hrefOf, hrefWith } from './state/route.ts';
import type { App, Dataset, KnowledgeHit, SearchHit, User } from './state/types.ts';
import { menu, views } from './views.ts';

type Entry = { icon: IconName; text: string; detail: string; href: string };

export type FinderProps = { close: () => void };

/** So many entries of a kind are shown. */
const shownOfKind = 4;

/** Leads to views, apps, users, knowledge bases, documents, messages and ids, by what the user types. */
export function Finder({ close }: FinderProps) {
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState(0);
  const id = useId();
  const q = typed.trim();
  const settled = useSettled(q);
  const { body: found = [] } = useReading(settled, (signal) => find(settled, signal));
  const entries = [...useNamed(q), ...(settled === q ? found : []), ...(q === '' ? [] : [everywhere(q)])];
  const at = Math.min(chosen, entries.length - 1);
  const open = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    close();
    location.hash = entry.href;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing || !['ArrowDown', 'ArrowUp', 'Enter'].includes(event.key)) return;
    event.preventDefault();
    if (event.key === 'Enter') open(entries[at]);
    else setChosen((at + (event.key === 'ArrowDown' ? 1 : entries.length - 1)) % entries.length);
  };
  return h(
    Dialog,
    { title: 'Go to', close },
    h('input', {
      class: 'finder',
      type: 'text',
      role: 'combobox',
      autoFocus: true,
      autoComplete: 'off',
      'aria-label': 'Go to a view, user, app, document or id',
      placeholder: 'Go to a view, user, app, document or id',
      'aria-expanded': true,
      'aria-controls': id,
      'aria-activedescendant': `${id}-${at}`,
      value: typed,
      onKeyDown,
      onInput: (event: Event) => {
        setTyped((event.target as HTMLInputElement).value);
        setChosen(0);
      },
    }),
    h(
      'ul',
      { id, class: 'plain found', role: 'listbox', 'aria-label': 'Places' },
      entries.map((entry, n) =>
        h(
          'li',
          { key: entry.href, id: `${id}-${n}`, role: 'option', 'aria-selected': n === at, onClick: () => open(entry) },
          h(Icon, { name: entry.icon }),
          el('span.one-line', entry.text),
          el('span.soft.small.one-line', entry.detail),
        ),
      ),
    ),
  );
}

const everywhere = (q: string): Entry => ({
  icon: 'search',
  text: `Search all messages for “${q}”`,
  detail: '',
  href: hrefWith(['conversations'], { q }),
});

/** Views, apps and knowledge bases whose name or id contains the text. */
function useNamed(q: string): Entry[] {
  const [apps, datasets] = [useAll<App>('/admin/apps').rows, useAll<Dataset>('/admin/datasets').rows];
  const part = q.toLowerCase();
  const entries = (rows: readonly { id: string; name: string }[], of: (id: string) => Omit<Entry, 'text'>) =>
    rows
      .filter(({ id, name }) => name.toLowerCase().includes(part) || id === part)
      .slice(0, q === '' ? rows.length : shownOfKind)
      .map(({ id, name }) => ({ text: name || id, ...of(id) }));
  const places = [...menu, 'start' as const].map((view) => ({ id: view, name: views[view].title }));
  return [
    ...entries(places, (id) => ({ icon: views[id as 'start'].icon, detail: 'View', href: hrefOf(id) })),
    ...(q === ''
      ? []
      : [
          ...entries(apps, (app_id) => ({
            ...{ icon: 'conversations', detail: 'App', href: hrefWith(['conversations'], { app_id }) },
          })),
          ...entries(datasets, (id) => ({
            ...{ icon: 'knowledge', detail: 'Knowledge base', href: hrefOf('knowledge', id) },
          })),
        ]),
  ];
}

/** Users, documents and messages that the service finds. A search that is turned off finds none. */
async function find(q: string, signal: AbortSignal): Promise<Entry[]> {
  if (q === '') return [];
  const rows = async <T>(path: string, query: object) =>
    request<CursorPage<T>>(pathOf(['admin', path], { q, limit: shownOfKind, ...query }), { signal }).then(
      ({ body }) => body.data,
      () => [],
    );
  const [users, chunks, messages] = await Promise.all([
    rows<User>('users', {}),
    rows<KnowledgeHit>('search', { in: 'knowledge' }),
    rows<SearchHit>('search', {}),
  ]);
  return [
    ...users.map(({ user }): Entry => ({ icon: 'users', text: user, detail: 'User', href: hrefOf('users', user) })),
    ...chunks.map(
      ({ snippet, document_name, dataset_id, document_id, segment_id, child_chunk_id }): Entry => ({
        ...{ icon: 'file', text: snippet, detail: document_name },
        href: hrefWith(['knowledge', dataset_id, document_id, segment_id, child_chunk_id ?? ''].filter(Boolean), {
          words: q,
        }),
      }),
    ),
    ...messages.map(
      ({ snippet, user, app_id, conversation_id, message_id }): Entry => ({
        ...{ icon: 'conversations', text: plain(snippet) || message_id, detail: user ?? 'Message' },
        href: hrefWith(['conversations', app_id, conversation_id, message_id], { q }),
      }),
    ),
  ];
}
