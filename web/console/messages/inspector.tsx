import { type ComponentChildren, Fragment } from 'preact';
import { Button } from '../../shared/controls.tsx';
import { count, counted, Id, millis, money, Time } from '../components/ui.tsx';
import { Export } from '../conversations/export.tsx';
import type { MessageKind } from '../conversations/next-message.ts';
import type { ShownMessage } from '../conversations/transcript-history.ts';
import type { Scroll } from '../conversations/transcript-scroll.ts';
import { useList } from '../hooks/requests.ts';
import { pathOf } from '../state/api.ts';
import { hrefOf, hrefWith } from '../state/route.ts';
import type { ConversationSummary, SearchHit } from '../state/types.ts';

type Props = {
  summary: ConversationSummary;
  path: readonly string[];
  /** The messages of the transcript: latency is computed from those that are loaded. */
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
  const jump = (label: string, isPossible: boolean, onClick: () => void) =>
    isPossible && <Button onClick={onClick}>{label}</Button>;
  return (
    <div class="inspector stack small">
      {group(
        'Who',
        fact(
          'User',
          user === null ? (
            'no user'
          ) : (
            <a href={hrefOf('users', user)} title={user}>
              {user}
            </a>
          ),
          'one-line',
        ),
        fact('App', <a href={hrefWith(['conversations'], { app_id })}>{app_name}</a>),
        fact('Created', <Time at={created_at} />),
        fact('Last', <Time at={last_message_at} />),
        fact('ID', <Id id={summary.id} />),
      )}
      {group(
        'Numbers',
        fact('Messages', count(message_count)),
        fact('Disliked', count(disliked_count)),
        fact('Failed', count(failed_count)),
        fact('Cost', summary.price === null ? '–' : money(summary.price, summary.currency ?? '')),
        <Loaded shown={shown} />,
      )}
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

const group = (title: string, ...facts: ComponentChildren[]) => (
  <section>
    <h3>{title}</h3>
    <dl class="values">{facts}</dl>
  </section>
);

const fact = (title: string, value: ComponentChildren, look?: string) => (
  <>
    <dt>{title}</dt>
    <dd class={look}>{value}</dd>
  </>
);

/** `, US$0.12`; nothing in several currencies. */
function costOf(messages: readonly ShownMessage[]): string {
  const priced = messages.filter(({ total_price }) => total_price !== null);
  const [currency, another] = new Set(priced.map(({ currency }) => currency));
  if (!currency || another !== undefined) return '';
  const cost = priced.reduce((sum, { total_price }) => sum + Number(total_price), 0);
  return `, ${money(cost, currency)}`;
}

/** Models, tokens and latency of the messages that are loaded. */
function Loaded({ shown }: Pick<Props, 'shown'>) {
  const messages = (shown.current?.history.rows ?? []).map(({ message }) => message);
  const sum = (name: 'message_tokens' | 'answer_tokens') => messages.reduce((all, one) => all + one[name], 0);
  const [tokensIn, tokensOut] = [sum('message_tokens'), sum('answer_tokens')];
  const seconds = messages
    .map(({ provider_response_latency }) => provider_response_latency)
    .filter((latency) => latency > 0)
    .toSorted((one, other) => one - other);
  const median = seconds[Math.floor(seconds.length / 2)];
  const title = `of the ${count(messages.length)} messages that are loaded`;
  const answered = messages.filter(({ details }) => details?.model);
  const models = [...Map.groupBy(answered, ({ details }) => details?.model ?? '')];
  return (
    <>
      {models.map(([model, answers]) => (
        <Fragment key={model}>
          <dt title={title}>Model</dt>
          <dd>
            {model}, {counted(answers.length, 'answer')}
            {costOf(answers)}
          </dd>
        </Fragment>
      ))}
      {tokensIn + tokensOut > 0 && (
        <>
          <dt title={title}>Tokens</dt>
          <dd>
            {count(tokensIn)} in, {count(tokensOut)} out
          </dd>
        </>
      )}
      {median !== undefined && (
        <>
          <dt title={title}>Latency</dt>
          <dd>
            median {millis(median * 1000)}, max {millis((seconds.at(-1) ?? 0) * 1000)}
          </dd>
        </>
      )}
    </>
  );
}
