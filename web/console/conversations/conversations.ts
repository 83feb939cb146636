import { CopyButton } from '../../shared/copy-button.ts';
import { h, useEffect, useState } from '../../shared/dom.ts';
import { type ApiError, pathOf, request } from '../parts/api.ts';
import { go, hrefOf, readRoute, type ViewProps } from '../parts/route.ts';
import type { App, Conversation } from '../parts/types.ts';
import { counted, ErrorNote } from '../parts/ui.ts';
import { type All, useAll } from '../parts/use-all.ts';
import { useTitle } from '../parts/use-title.ts';
import { ConversationList } from './conversation-list.ts';
import { Transcript } from './transcript.ts';

/** The next refresh tries again. */
const ignore = () => undefined;

/** The conversations of an app beside the transcript of one; on a phone one of the two. */
export function ConversationsView({ rest: [app_id, conversation_id] }: ViewProps) {
  const apps = useAll<App>('/admin/apps');
  const first = apps.rows?.[0]?.id;
  useEffect(() => {
    // The address itself, not `app_id`: the user may have gone to another view since.
    const [view, app] = readRoute();
    if (first !== undefined && view === 'conversations' && app === undefined)
      location.replace(hrefOf('conversations', first));
  }, [app_id, first]);
  return h(
    'div',
    { class: `conversations ${conversation_id === undefined ? 'at-list' : 'at-transcript'}` },
    h(
      'section',
      { class: 'side', 'aria-labelledby': 'conversations-title' },
      h('h1', { id: 'conversations-title', class: 'hidden-label' }, 'Conversations'),
      h(AppChoice, { apps, app_id }),
      app_id !== undefined && h(ConversationList, { key: app_id, app_id, chosen: conversation_id }),
    ),
    app_id !== undefined && conversation_id !== undefined
      ? h(OpenConversation, { key: `${app_id} ${conversation_id}`, app_id, conversation_id })
      : h(NoConversation, { hasApps: first !== undefined }),
  );
}

function NoConversation({ hasApps }: { hasApps: boolean }) {
  useTitle('Conversations');
  return h('p', { class: 'soft nothing-chosen' }, hasApps && 'Choose a conversation to read it.');
}

function AppChoice({ apps: { rows, error, reload }, app_id }: { apps: All<App>; app_id: string | undefined }) {
  if (error !== undefined) return h(ErrorNote, { error, retry: reload });
  if (rows === undefined) return h('p', { class: 'soft', role: 'status' }, 'Loading…');
  if (rows.length === 0)
    return h('p', { class: 'soft' }, 'There are no apps yet. Import them as records: npx backscroll import.');
  const isShared = new Set(rows.map(({ workspace_name }) => workspace_name)).size > 1;
  const choose = ({ currentTarget }: Event) => go('conversations', (currentTarget as HTMLSelectElement).value);
  return h(
    'label',
    { class: 'app-choice' },
    h('span', { class: 'hidden-label' }, 'App'),
    h(
      'select',
      { value: app_id, onChange: choose },
      rows.map(({ id, name, mode, workspace_name }) =>
        h('option', { key: id, value: id }, `${name} (${mode}${isShared ? `, ${workspace_name}` : ''})`),
      ),
    ),
  );
}

function OpenConversation({ app_id, conversation_id }: { app_id: string; conversation_id: string }) {
  const path = ['admin', 'apps', app_id, 'conversations', conversation_id];
  const [conversation, setConversation] = useState<Conversation>();
  const [error, setError] = useState<ApiError>();
  const read = () => {
    setError(undefined);
    request<Conversation>(pathOf(path)).then(({ body }) => setConversation(body), setError);
  };
  useEffect(read, []);
  const recount = () => request<Conversation>(pathOf(path)).then(({ body }) => setConversation(body), ignore);
  const title = conversation === undefined ? 'Conversation' : (conversation.user ?? 'no user');
  useTitle(title, 'Conversations');
  return h(
    'section',
    { class: 'open-conversation', 'aria-labelledby': 'transcript-title' },
    h(
      'header',
      null,
      h('a', { class: 'back', href: hrefOf('conversations', app_id) }, '‹ Conversations'),
      h('h2', { id: 'transcript-title', title: conversation?.user ?? undefined }, title),
      conversation && h('span', { class: 'soft' }, counted(conversation.message_count, 'message')),
      h(
        'span',
        { class: 'id soft' },
        h('code', null, conversation_id),
        h(CopyButton, { text: conversation_id, label: 'Copy id' }),
      ),
    ),
    error !== undefined && h(ErrorNote, { error, retry: read }),
    conversation === undefined && error === undefined && h('p', { class: 'soft', role: 'status' }, 'Loading…'),
    conversation && h(Transcript, { path, total: conversation.message_count, grew: recount }),
  );
}
