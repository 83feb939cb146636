import { Button, Terms } from '../../shared/controls.tsx';
import { cost, count, Id, Time } from '../components/ui.tsx';
import { Export } from '../conversations/export.tsx';
import type { MessageKind } from '../conversations/next-message.ts';
import type { Scroll } from '../conversations/transcript-scroll.ts';
import { useList } from '../hooks/requests.ts';
import { pathOf } from '../state/api.ts';
import { hrefOf, hrefWith } from '../state/route.ts';
import type { ConversationSummary, SearchHit } from '../state/types.ts';
import { LoadedMessages } from './loaded-messages.tsx';

type Props = {
  summary: ConversationSummary;
  path: readonly string[];
  /** The messages of the transcript. */
  shown: { current: Scroll | undefined };
  toNext: (kind: MessageKind) => void;
};

/** Details of a conversation, and navigation in it. */
export function Inspector({ summary, path, shown, toNext }: Props) {
  const { app_id, app_name, user, created_at, last_message_at, message_count, disliked_count, failed_count } = summary;
  const query = { app_id, conversation_id: summary.id, has: 'files', limit: 1 };
  const found = useList<SearchHit>(pathOf(['admin', 'search'], query));
  const loaded = shown.current?.history.rows ?? [];
  const hasFiles = found.rows.length > 0 || loaded.some(({ message }) => message.message_files.length > 0);
  const userLink = user && (
    <a href={hrefOf('users', user)} title={user}>
      {user}
    </a>
  );
  const jump = (label: string, isPossible: boolean, onClick: () => void) =>
    isPossible && <Button onClick={onClick}>{label}</Button>;
  return (
    <div class="inspector stack small">
      <section>
        <h3>Who</h3>
        <Terms
          rows={[
            ['User', userLink ?? 'no user', 'one-line'],
            ['App', <a href={hrefWith(['conversations'], { app_id })}>{app_name}</a>],
            ['Created', <Time at={created_at} />],
            ['Last', <Time at={last_message_at} />],
            ['ID', <Id id={summary.id} />],
          ]}
        />
      </section>
      <section>
        <h3>Numbers</h3>
        <Terms
          rows={[
            ['Messages', count(message_count)],
            ['Disliked', count(disliked_count)],
            ['Failed', count(failed_count)],
            ['Cost', cost(summary.price, summary.currency)],
          ]}
        />
      </section>
      <LoadedMessages
        messages={loaded.map(({ message }) => message)}
        hrefOfMessage={(id) => hrefOf('conversations', app_id, summary.id, id)}
      />
      <div class="row tight" role="group" aria-label="Go to">
        <h3 class="whole-row">Jump to</h3>
        {jump('Next disliked', disliked_count > 0, () => toNext('disliked'))}
        {jump('Next failed', failed_count > 0, () => toNext('failed'))}
        {jump('Next file', hasFiles, () => toNext('file'))}
        {jump('Beginning', message_count > 0, () => void shown.current?.toBeginning())}
      </div>
      <Export summary={summary} path={path} />
    </div>
  );
}
