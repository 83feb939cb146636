import { Icon, OutLink } from '../../shared/controls.tsx';
import { capital, count, duration, money, Time } from '../components/ui.tsx';
import type { ShownMessage } from '../conversations/transcript-history.ts';
import { MessageActions, noParent, SiblingSteps, type Siblings } from './message-actions.tsx';
import { Form } from './message-form.tsx';
import { Citations, Files, formatted, MessageError, Steps, Truncated, Values } from './message-parts.tsx';

export type MessageProps = {
  message: ShownMessage;
  /** The part of the message's address behind the page's. */
  href: string;
  /** The id of the message before it. */
  before: string | undefined;
  /** Whether the address names this message. */
  isCurrent?: boolean | undefined;
  siblings?: Siblings | undefined;
  /** Whether its review is open next to it. */
  isInReview?: boolean;
};

/** A query and its answer, with everything recorded about them. */
export function MessageView({ message, before, href, isCurrent = false, siblings, isInReview = false }: MessageProps) {
  const { id, query, answer, created_at, inputs, status, error, details } = message;
  const files = (owner: string) => message.message_files.filter(({ belongs_to }) => (belongs_to ?? 'user') === owner);
  const [userFiles, assistantFiles] = [files('user'), files('assistant')];
  const parent = message.parent_message_id === noParent ? null : message.parent_message_id;
  const hasFailed = status === 'error' || error !== null;
  const isEmpty = answer === '' && !hasFailed && assistantFiles.length + message.extra_contents.length === 0;
  const current = isCurrent ? 'true' : undefined;
  return (
    <article class="message stack" aria-label={`Message ${id}`} data-id={id} aria-current={current}>
      <section class="query stack" aria-label="Query">
        {query !== '' && <Truncated id={`${id} query`} text={query} draw={plain} />}
        {query === '' && userFiles.length === 0 && <p class="soft">no query</p>}
        <Files files={userFiles} />
        <Values title="Inputs" values={inputs} id={`${id} inputs`} />
      </section>
      <section class="answer stack" aria-label="Answer">
        <Steps thoughts={message.agent_thoughts} id={id} />
        {answer !== '' && <Truncated id={`${id} answer`} text={answer} draw={formatted} />}
        {message.extra_contents.map((content, i) => (
          <Form key={i} id={`${id} form ${i}`} content={content} />
        ))}
        <Files files={assistantFiles} />
        {isEmpty && <p class="soft">no answer</p>}
        {hasFailed && <MessageError id={id} error={error} />}
        <Citations resources={message.retriever_resources} href={href} />
      </section>
      <footer class="soft small row">
        <Time at={created_at} form="clock" />
        {message.feedback && <Feedback rating={message.feedback.rating} />}
        <Statistics message={message} />
        {siblings && <SiblingSteps siblings={siblings} />}
        {parent !== null && parent !== before && (
          <span title={`parent message ${parent}`}>
            reply to <code>{parent.slice(0, 8)}</code>
          </span>
        )}
        <MessageActions message={message} href={href} isInReview={isInReview} />
        <Comment text={details?.feedback_content} />
      </footer>
    </article>
  );
}

const plain = (text: string) => <p class="as-written">{text}</p>;

/** What the user wrote about an answer. */
export const Comment = ({ text }: { text: string | null | undefined }) =>
  text && (
    <blockquote class="feedback as-written" aria-label="Feedback">
      {text}
    </blockquote>
  );

function Feedback({ rating }: { rating: 'like' | 'dislike' }) {
  const rated = `${rating}d` as const;
  return (
    <span class={`badge ${rating === 'like' ? 'good' : 'warn'}`}>
      <Icon name={rated} />
      {capital(rated)}
    </span>
  );
}

function Statistics({ message }: { message: ShownMessage }) {
  const { message_tokens, answer_tokens, total_tokens, total_price, currency, provider_response_latency, details } =
    message;
  return (
    <>
      {total_tokens > 0 && (
        <span title={`${count(message_tokens)} in, ${count(answer_tokens)} out`}>{count(total_tokens)} tokens</span>
      )}
      {total_price !== null && (
        <span title={`${total_price} ${currency ?? ''}`.trim()}>{money(Number(total_price), currency ?? '')}</span>
      )}
      {provider_response_latency > 0 && (
        <span title="latency of the model provider">{duration(provider_response_latency)}</span>
      )}
      {details?.model && <span title={`model ${details.model_provider ?? ''}`.trim()}>{details.model}</span>}
      {details?.trace_url && <OutLink href={details.trace_url}>Trace</OutLink>}
    </>
  );
}
