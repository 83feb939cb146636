import type { ComponentChildren } from 'preact';
import { Icon, Terms } from '../../shared/controls.tsx';
import { count, counted, duration, money } from '../components/ui.tsx';
import type { ShownMessage } from '../conversations/transcript-history.ts';
import { Spark } from '../overview/numbers.tsx';
import { medianOf } from '../overview/series.ts';
import { hrefOf } from '../state/route.ts';

type Props = { messages: readonly ShownMessage[]; hrefOfMessage: (id: string) => string };

const rowsShown = 5;

const FirstRows = ({ title, rows }: { title: string; rows: readonly ComponentChildren[] }) =>
  rows.length > 0 && (
    <section class="loaded">
      <h3>{title}</h3>
      <ul class="plain stack tight">{rows.slice(0, rowsShown)}</ul>
    </section>
  );

/** What the messages that are loaded tell: models, tokens, latency, ratings with their comments, and what answers cite. */
export function LoadedMessages({ messages, hrefOfMessage }: Props) {
  const comments = messages.filter(({ details }) => details?.feedback_content).toReversed();
  const commentRow = ({ id, feedback, details }: ShownMessage) => (
    <li key={id} class="row tight">
      {feedback && <Icon name={feedback.rating === 'like' ? 'liked' : 'disliked'} />}
      <a href={hrefOfMessage(id)} class="two-lines">
        “{details?.feedback_content}”
      </a>
    </li>
  );
  return [
    <Numbers messages={messages} />,
    <FirstRows title="Comments" rows={comments.map(commentRow)} />,
    <FirstRows title="Citations" rows={citedIn(messages).map(documentRow)} />,
  ];
}

const documentRow = ({ dataset_id, document_id, document_name, answers, disliked }: Cited) => (
  <li key={document_id}>
    <a href={hrefOf('knowledge', dataset_id, document_id)} class="one-line">
      {document_name || document_id}
    </a>
    <span class="soft">
      {counted(answers, 'answer')}
      {disliked > 0 && `, ${count(disliked)} disliked`}
    </span>
  </li>
);

type Cited = ReturnType<typeof citedIn>[number];

/** The documents that answers cite: those that most disliked answers cite first, then those that most answers cite. */
function citedIn(messages: readonly ShownMessage[]) {
  const cited = messages.flatMap(({ id, feedback, retriever_resources }) =>
    retriever_resources.map((resource) => ({ ...resource, id, isDisliked: feedback?.rating === 'dislike' })),
  );
  const documents = [...Map.groupBy(cited, ({ document_id }) => document_id)].map(([document_id, rows]) => ({
    document_id,
    dataset_id: rows[0]?.dataset_id ?? '',
    document_name: rows[0]?.document_name,
    answers: new Set(rows.map(({ id }) => id)).size,
    disliked: new Set(rows.filter(({ isDisliked }) => isDisliked).map(({ id }) => id)).size,
  }));
  return documents.toSorted((one, other) => other.disliked - one.disliked || other.answers - one.answers);
}

/** `, US$0.12`; nothing in several currencies. */
function costOf(messages: readonly ShownMessage[]): string {
  const priced = messages.filter(({ total_price }) => total_price !== null);
  const [currency, another] = new Set(priced.map(({ currency }) => currency));
  if (!currency || another !== undefined) return '';
  const cost = priced.reduce((sum, { total_price }) => sum + Number(total_price), 0);
  return `, ${money(cost, currency)}`;
}

function Numbers({ messages }: Pick<Props, 'messages'>) {
  const sum = (name: 'message_tokens' | 'answer_tokens') => messages.reduce((all, one) => all + one[name], 0);
  const [tokensIn, tokensOut] = [sum('message_tokens'), sum('answer_tokens')];
  const seconds = messages.map((one) => one.provider_response_latency).filter((latency) => latency > 0);
  const [median, most] = [medianOf(seconds), Math.max(0, ...seconds)];
  const answered = messages.filter(({ details }) => details?.model);
  const models = [...Map.groupBy(answered, ({ details }) => details?.model ?? '')];
  if (tokensIn + tokensOut === 0 && seconds.length === 0 && models.length === 0) return null;
  return (
    <section class="loaded">
      <h3>Of the {counted(messages.length, 'message')} that are loaded</h3>
      <Terms
        rows={[
          ...models.map(
            ([model, answers]) =>
              ['Model', `${model}, ${counted(answers.length, 'answer')}${costOf(answers)}`] as const,
          ),
          tokensIn + tokensOut > 0 && ['Tokens', `${count(tokensIn)} in, ${count(tokensOut)} out`],
          seconds.length > 0 && ['Latency', `median ${duration(median)}, max ${duration(most)}`],
        ]}
      />
      {seconds.length > 1 && <Spark values={seconds} />}
    </section>
  );
}
