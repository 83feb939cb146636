import { Fragment } from 'preact';
import { Icon } from '../../shared/controls.tsx';
import { count, counted, millis, money } from '../components/ui.tsx';
import type { ShownMessage } from '../conversations/transcript-history.ts';
import { hrefOf } from '../state/route.ts';

type Props = { messages: readonly ShownMessage[]; hrefOfMessage: (id: string) => string };

const rowsShown = 5;

/** What the messages that are loaded tell: models, tokens, latency, ratings with their comments, and what answers cite. */
export function LoadedMessages({ messages, hrefOfMessage }: Props) {
  const comments = messages.filter(({ details }) => details?.feedback_content);
  const documents = citedIn(messages);
  return (
    <>
      <Numbers messages={messages} />
      {comments.length > 0 && (
        <section class="loaded">
          <h3>Comments</h3>
          <ul class="plain stack tight">
            {comments
              .toReversed()
              .slice(0, rowsShown)
              .map(({ id, feedback, details }) => (
                <li key={id} class="row tight">
                  {feedback && <Icon name={feedback.rating === 'like' ? 'liked' : 'disliked'} />}
                  <a href={hrefOfMessage(id)} class="two-lines">
                    “{details?.feedback_content}”
                  </a>
                </li>
              ))}
          </ul>
        </section>
      )}
      {documents.length > 0 && (
        <section class="loaded">
          <h3>Citations</h3>
          <ul class="plain stack tight">
            {documents.slice(0, rowsShown).map(({ dataset_id, document_id, document_name, answers, disliked }) => (
              <li key={document_id}>
                <a href={hrefOf('knowledge', dataset_id, document_id)} class="one-line">
                  {document_name || document_id}
                </a>
                <span class="soft">
                  {counted(answers, 'answer')}
                  {disliked > 0 && `, ${count(disliked)} disliked`}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

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
  const seconds = messages
    .map(({ provider_response_latency }) => provider_response_latency)
    .filter((latency) => latency > 0);
  const sorted = seconds.toSorted((one, other) => one - other);
  const median = sorted[Math.floor(sorted.length / 2)];
  const most = sorted.at(-1) ?? 0;
  const answered = messages.filter(({ details }) => details?.model);
  const models = [...Map.groupBy(answered, ({ details }) => details?.model ?? '')];
  if (tokensIn + tokensOut === 0 && median === undefined && models.length === 0) return null;
  return (
    <section class="loaded">
      <h3>Of the {counted(messages.length, 'message')} that are loaded</h3>
      <dl class="values">
        {models.map(([model, answers]) => (
          <Fragment key={model}>
            <dt>Model</dt>
            <dd>
              {model}, {counted(answers.length, 'answer')}
              {costOf(answers)}
            </dd>
          </Fragment>
        ))}
        {tokensIn + tokensOut > 0 && (
          <>
            <dt>Tokens</dt>
            <dd>
              {count(tokensIn)} in, {count(tokensOut)} out
            </dd>
          </>
        )}
        {median !== undefined && (
          <>
            <dt>Latency</dt>
            <dd>
              median {millis(median * 1000)}, max {millis(most * 1000)}
            </dd>
          </>
        )}
      </dl>
      {seconds.length > 1 && (
        <svg
          class="latency-line"
          viewBox={`0 0 ${seconds.length - 1} 24`}
          preserveAspectRatio="none"
          aria-hidden={true}
        >
          <polyline points={seconds.map((latency, at) => `${at},${23 - (22 * latency) / most}`).join(' ')} />
        </svg>
      )}
    </section>
  );
}
