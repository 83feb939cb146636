import { type Column, DataTable } from '../components/table.tsx';
import { ListEnd, Page, Section, Time } from '../components/ui.tsx';
import { useList } from '../hooks/requests.ts';
import { pathOf } from '../state/api.ts';
import { hrefOf, useMayRead } from '../state/route.ts';
import type { Read } from '../state/types.ts';
import { By } from './activity-table.tsx';

/** What an operation is called here; others have their own names. */
const operations: Readonly<Record<string, string>> = {
  getTranscript: 'Opened',
  listAllConversations: 'Opened the page of',
  search: 'Searched',
  exportRecords: 'Exported',
  exportMessages: 'Exported as CSV',
  exportEvals: 'Exported test cases',
  listReviews: 'Opened reviews',
  listChanges: 'Followed changes',
};

/** Who has opened, copied or searched what end users said, newest first. */
export const ReadsPage = () => (
  <Page title="Reads" trail={[{ name: 'Activity', href: hrefOf('activity') }]}>
    <Reads query={{ limit: 50 }} />
  </Page>
);

type RecentProps = { title: string; query: { user: string } | { person_id: string } };

/** For those who may see it. */
export const RecentReads = ({ title, query }: RecentProps) =>
  useMayRead('listReads') && (
    <Section title={title}>
      <Reads query={{ ...query, limit: 10 }} />
    </Section>
  );

function Reads({ query }: { query: Record<string, string | number> }) {
  const list = useList<Read>(pathOf(['admin', 'reads'], query));
  return [
    <DataTable label="Reads" columns={columns} rows={list.rows} />,
    <ListEnd list={list} icon="activity" nothing="Nothing was read." />,
  ];
}

const columns: Column<Read>[] = [
  { title: 'When', cell: ({ at }) => <Time at={at} /> },
  { title: 'By', cell: (read) => <By entry={read} /> },
  {
    title: 'What',
    cell: (read) => [operations[read.operation] ?? read.operation, ' ', <What of={read} />],
  },
  { title: 'App', isExtra: true, cell: ({ app_name }) => app_name ?? 'all' },
];

function What({ of: { app_id, conversation_id, user, words } }: { of: Read }) {
  if (words !== null) return <q>{words}</q>;
  if (conversation_id !== null && app_id !== null)
    return <a href={hrefOf('conversations', app_id, conversation_id)}>a conversation{user && ` of ${user}`}</a>;
  return <>{user === null ? '' : <a href={hrefOf('users', user)}>{user}</a>}</>;
}
