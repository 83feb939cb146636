import { button, h, useState } from '../../shared/dom.ts';
import { Icon } from '../../shared/icon.ts';
import { DownloadButton } from '../components/download.ts';
import { Facts } from '../components/facts.ts';
import { money } from '../components/format-number.ts';
import { Page } from '../components/page.ts';
import { type Column, DataTable } from '../components/table.ts';
import { count, ErrorNote, ListEnd, Time } from '../components/ui.ts';
import { type CursorPage, useList } from '../hooks/use-list.ts';
import { useReading } from '../hooks/use-reading.ts';
import { pathOf, request } from '../state/api.ts';
import { hrefOf, hrefWith } from '../state/route.ts';
import { limits } from '../state/server-rules.ts';
import { useMayWrite } from '../state/session.ts';
import type { ConversationSummary, User } from '../state/types.ts';
import { Erasure } from './erasure.ts';

/** What a user said in all apps: totals, conversations, a copy of all of it, and its erasure. */
export function UserPage({ user }: { user: string }) {
  const canErase = useMayWrite();
  const { body, error, reload } = useReading(user, (signal) => readUser(user, signal));
  const list = useList<ConversationSummary>(pathOf(['admin', 'conversations'], { user, limit: 50 }));
  const [isErasing, setErasing] = useState(false);
  const reloadAll = () => {
    reload();
    list.reload();
  };
  return h(
    Page,
    {
      title: user,
      part: 'Users',
      actions: [
        h('a', { class: 'button quiet first', href: hrefOf('users') }, h(Icon, { name: 'left' }), 'All users'),
        body && h(Actions, { user, canErase, erase: () => setErasing(true) }),
      ],
    },
    h(ErrorNote, { error, retry: reload }),
    body && h(Totals, { of: body }),
    h(
      'section',
      { class: 'stack', 'aria-labelledby': 'user-conversations' },
      h('h2', { id: 'user-conversations' }, 'Conversations'),
      h(DataTable<ConversationSummary>, {
        label: 'Conversations',
        columns: columnsOf(user),
        rows: list.rows,
        rowKey: ({ id }) => id,
      }),
      h(ListEnd, { list, icon: 'conversations', nothing: 'This user has no conversations.' }),
    ),
    isErasing && body && h(Erasure, { of: body, close: () => setErasing(false), erased: reloadAll }),
  );
}

/** The list of users searches by a part of the name: this user is among those whose name contains it. */
async function readUser(user: string, signal: AbortSignal): Promise<User | null> {
  const q = user.slice(0, limits.searchUnitsMax);
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path = pathOf(['admin', 'users'], { q, sort: 'user', limit: limits.listRowsMax, cursor });
    const { body }: { body: CursorPage<User> } = await request(path, { signal });
    const found = body.data.find((row) => row.user === user);
    if (found !== undefined) return found;
    cursor = body.next_cursor;
  }
  return null;
}

function Actions({ user, canErase, erase }: { user: string; canErase: boolean; erase: () => void }) {
  const save = (label: string, path: string, name: string) =>
    h(DownloadButton, { label, path: pathOf(['admin', path], { user }), name });
  return h(
    'div',
    { class: 'row', role: 'group', 'aria-label': 'All data of this user' },
    save('Export records', 'records', `${user}.ndjson`),
    save('Export CSV', 'messages.csv', `${user}.csv`),
    canErase && button({ class: 'danger', onClick: erase }, 'Erase…'),
  );
}

function Totals({ of: row }: { of: User }) {
  const link = (n: number, filters: object) =>
    n === 0 ? '0' : h('a', { href: hrefWith(['conversations'], { user: row.user, ...filters }) }, count(n));
  const cost = row.total_price === null ? '–' : money(row.total_price, row.currency ?? '');
  return h(Facts, {
    facts: [
      ['Conversations', link(row.conversations, {})],
      ['Messages', link(row.messages, {})],
      ['Disliked', link(row.disliked, { rating: 'dislike' })],
      ['Failed', link(row.failed, { status: 'error' })],
      ['Cost', cost],
      ['Apps', count(row.app_ids.length)],
      ['First activity', h(Time, { at: row.first_at, form: 'day' })],
      ['Last activity', h(Time, { at: row.last_at, form: 'day' })],
    ],
  });
}

const columnsOf = (user: string): Column<ConversationSummary>[] => [
  {
    title: 'Conversation',
    cell: ({ id, app_id, name }) =>
      h('a', { class: 'one-line', href: hrefWith(['conversations', app_id, id], { user }) }, name || id),
  },
  { title: 'App', cell: ({ app_name }) => app_name },
  { title: 'Messages', isNumber: true, cell: ({ message_count }) => count(message_count) },
  { title: 'Disliked', isNumber: true, cell: ({ disliked_count }) => count(disliked_count) },
  { title: 'Failed', isNumber: true, cell: ({ failed_count }) => count(failed_count) },
  {
    title: 'Cost',
    isNumber: true,
    cell: ({ price, currency }) => (price === null ? '–' : money(price, currency ?? '')),
  },
  { title: 'Last message', cell: ({ last_message_at: at }) => h(Time, { at }) },
];
