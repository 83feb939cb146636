import { useState } from 'preact/hooks';
import { appendLine, readLine } from '../../../server/src/contract/console/first-message.ts';
import { CodeBlock } from '../../shared/code-block.tsx';
import { Button } from '../../shared/controls.tsx';
import { RecentActivity } from '../activity/activity.tsx';
import { RenameDialog } from '../components/action-dialog.tsx';
import { type Column, DataTable } from '../components/table.tsx';
import { ErrorNote, Facts, Id, ListEnd, Nothing, Page, Section, Skeleton, Time, whole } from '../components/ui.tsx';
import { useAll, useList, useResponse } from '../hooks/requests.ts';
import { KeyCreation } from '../keys/key-creation.tsx';
import { stateOf, titleOf } from '../keys/key-labels.ts';
import { Kind, State } from '../keys/key-page.tsx';
import { pricesText, rowsOfModels, SumTable } from '../overview/tables.tsx';
import { pathOf, request } from '../state/api.ts';
import { lastDays, lengthDefault } from '../state/period.ts';
import { hrefOf, hrefWith, useMayRead, useMayWrite } from '../state/route.ts';
import type { App, ConversationSummary, Key, Overview } from '../state/types.ts';
import { RetentionForm } from './retention.tsx';

/** An app: its numbers, how long it keeps conversations, its keys and models, and how messages are sent and read. */
export function AppPage({ id }: { id: string }) {
  const { body: app, error, reload } = useResponse<App>(pathOf(['admin', 'apps', id]));
  const [isRenaming, setRenaming] = useState(false);
  const mayWrite = useMayWrite('updateApp');
  const mayListKeys = useMayRead('listKeys');
  const trail = [{ name: 'Apps', href: hrefOf('apps') }];
  if (app === undefined)
    return (
      <Page title={`App ${id.slice(0, 8)}`} trail={trail}>
        {error === undefined ? <Skeleton /> : <ErrorNote error={error} retry={reload} />}
      </Page>
    );
  return (
    <Page
      title={app.name || id}
      trail={trail}
      meta={<span class="badge">{app.mode}</span>}
      actions={
        <div class="row">
          {mayWrite && <Button onClick={() => setRenaming(true)}>Rename</Button>}
          <a class="button primary" href={hrefWith(['conversations'], { app_id: id })}>
            Conversations
          </a>
        </div>
      }
    >
      <Numbers of={app} />
      <div class="pair">
        <RetentionForm key={`${app.retention_days}`} of={app} changed={reload} />
        {mayListKeys && <Keys app_id={id} />}
      </div>
      <div class="pair">
        <FirstCalls />
        <RecentActivity title="Changes of this app" filters={{ record: 'app', record_id: id }} isOptional />
      </div>
      {isRenaming && (
        <RenameDialog
          title="Rename the app"
          name={app.name}
          rename={async (name) => {
            await request(pathOf(['admin', 'apps', id]), { method: 'PATCH', body: { name } });
            reload();
          }}
          close={() => setRenaming(false)}
        />
      )}
    </Page>
  );
}

/** What the app had in the last days, its models, and its newest conversations. */
function Numbers({ of: { id, workspace_name } }: { of: App }) {
  const { from, to } = lastDays(lengthDefault);
  const path = pathOf(['admin', 'overview'], { app_id: id, from, to });
  const { body: overview, error, reload } = useResponse<Overview>(path);
  const newest = useList<ConversationSummary>(pathOf(['admin', 'conversations'], { app_id: id, limit: 5 }));
  const link = (filters: object, text: string) => (
    <a href={hrefWith(['conversations'], { app_id: id, days: `${lengthDefault}`, ...filters })}>{text}</a>
  );
  const totals = overview?.totals;
  const models = overview ? rowsOfModels(overview) : [];
  return (
    <>
      <ErrorNote error={error} retry={reload} />
      <Facts
        facts={[
          [`Messages, ${lengthDefault} days`, totals ? link({}, whole(totals.messages)) : '…'],
          ['Users', totals ? <a href={hrefWith(['users'], { app_id: id })}>{whole(totals.users)}</a> : '…'],
          ['Disliked', totals ? link({ rating: 'dislike' }, whole(totals.disliked)) : '…'],
          ['Failed', totals ? link({ status: 'error' }, whole(totals.failed)) : '…'],
          ['Cost', totals ? pricesText(totals.prices) || '–' : '…'],
          ['Workspace', workspace_name],
          ['ID', <Id id={id} />],
        ]}
      />
      <div class="pair">
        <Section title="Newest conversations">
          <DataTable label="Newest conversations" columns={conversationColumns} rows={newest.rows} />
          {!newest.hasMore && <ListEnd list={newest} icon="conversations" nothing="No conversation yet." />}
        </Section>
        {models.length > 0 ? (
          <SumTable within={{ app_id: id, from, to }} title="Model" rows={models} />
        ) : (
          <Section title="By model">{overview && <Nothing icon="models">No answer names its model.</Nothing>}</Section>
        )}
      </div>
    </>
  );
}

const conversationColumns: Column<ConversationSummary>[] = [
  {
    title: 'Conversation',
    cell: ({ id, name }) => name || id,
    href: ({ app_id, id }) => hrefOf('conversations', app_id, id),
  },
  { title: 'Messages', count: ({ message_count }) => message_count },
  { title: 'Last activity', cell: ({ updated_at }) => <Time at={updated_at} form="brief" /> },
];

/** The keys of the app that are not revoked. */
function Keys({ app_id }: { app_id: string }) {
  const list = useAll<Key>('/admin/keys');
  const [isCreating, setCreating] = useState(false);
  const mayWrite = useMayWrite('createKey');
  const rows = list.rows.filter((key) => key.app_id === app_id && key.revoked_at === null);
  const now = Date.now() / 1000;
  const columns: Column<Key>[] = [
    { title: 'Key', cell: (key) => <a href={hrefOf('keys', key.id)}>{titleOf(key)}</a> },
    { title: 'Kind', cell: (key) => <Kind of={key} /> },
    { title: 'State', cell: (key) => <State state={stateOf(key, now)} /> },
    { title: 'Last used', cell: (key) => <Time at={key.last_used_at} form="brief" /> },
  ];
  return (
    <Section title="Keys" meta={mayWrite && <Button onClick={() => setCreating(true)}>New key</Button>}>
      <DataTable label="Keys" columns={columns} rows={rows} />
      <ListEnd list={{ ...list, rows }} icon="keys" nothing="No key is limited to this app." />
      {isCreating && <KeyCreation app={app_id} close={() => setCreating(false)} created={list.reload} />}
    </Section>
  );
}

/** The commands that send the first message to the app, and read it. */
const FirstCalls = () => (
  <Section title="Send and read">
    <p class="soft">With a writer key of this app, a chat back end stores messages; an app key reads them.</p>
    <CodeBlock label="Store a first message" text={appendLine(location.origin, '$WRITER_KEY')} />
    <CodeBlock label="Read a conversation" text={readLine(location.origin, '$APP_KEY', '$CONVERSATION')} />
  </Section>
);
