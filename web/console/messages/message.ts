import { Icon } from '../../shared/controls.ts';
import { el, h } from '../../shared/dom.ts';
import { capital, count, money, Time } from '../components/ui.ts';
import type { ShownMessage } from '../conversations/transcript-history.ts';
import { locale } from '../state/times.ts';
import type { Message } from '../state/types.ts';
import { Markdown } from './markdown.ts';
import { MessageActions, noParent, SiblingSteps, type Siblings } from './message-actions.ts';
import { MessageError } from './message-error.ts';
import { Form } from './message-form.ts';
import { Citations, Files, Steps, Truncated, Values } from './message-parts.ts';

export type MessageProps = {
  message: ShownMessage;
  /** The part of the message's address behind the page's. */
  href: string;
  /** The id of the message before it. */
  before: string | undefined;
  /** Whether the address names this message. */
  isCurrent: boolean;
  siblings: Siblings | undefined;
};

/** A query and its answer, with everything recorded about them. */
export function MessageView({ message, before, href, isCurrent, siblings }: MessageProps) {
  const { id, query, answer, created_at, inputs, status, error, feedback_content } = message;
  const files = (owner: string) => message.message_files.filter(({ belongs_to }) => (belongs_to ?? 'user') === owner);
  const [userFiles, assistantFiles] = [files('user'), files('assistant')];
  const parent = message.parent_message_id === noParent ? null : message.parent_message_id;
  const hasFailed = status === 'error' || error !== null;
  const isEmpty = answer === '' && !hasFailed && assistantFiles.length + message.extra_contents.length === 0;
  const names = { 'aria-label': `Message ${id}`, 'data-id': id };
  return h('article', { class: 'message stack', ...names, 'aria-current': isCurrent ? 'true' : undefined }, [
    h('section', { class: 'query stack', 'aria-label': 'Query' }, [
      query !== '' && h(Truncated, { id: `${id} query`, text: query, draw: plain }),
      query === '' && userFiles.length === 0 && el('p.soft', 'no query'),
      h(Files, { files: userFiles }),
      h(Values, { title: 'Inputs', values: inputs, id: `${id} inputs` }),
    ]),
    h('section', { class: 'answer stack', 'aria-label': 'Answer' }, [
      h(Steps, { thoughts: message.agent_thoughts, id }),
      answer !== '' && h(Truncated, { id: `${id} answer`, text: answer, draw: formatted }),
      message.extra_contents.map((content, i) => h(Form, { key: i, id: `${id} form ${i}`, content })),
      h(Files, { files: assistantFiles }),
      isEmpty && el('p.soft', 'no answer'),
      hasFailed && h(MessageError, { id, error }),
      h(Citations, { resources: message.retriever_resources }),
    ]),
    el('footer.soft.small.row', [
      h(Time, { at: created_at, form: 'clock' }),
      message.feedback !== null && h(Feedback, { rating: message.feedback.rating }),
      h(Statistics, { message }),
      siblings && h(SiblingSteps, { siblings }),
      parent !== null &&
        parent !== before &&
        h('span', { title: `parent message ${parent}` }, 'reply to ', el('code', parent.slice(0, 8))),
      h(MessageActions, { message, href }),
      feedback_content && h('blockquote', { class: 'feedback as-written', 'aria-label': 'Feedback' }, feedback_content),
    ]),
  ]);
}

const plain = (text: string) => el('p.as-written', text);
const formatted = (text: string) => h(Markdown, { text });

function Feedback({ rating }: { rating: 'like' | 'dislike' }) {
  const isLiked = rating === 'like';
  const rated = isLiked ? 'liked' : 'disliked';
  return h('span', { class: `badge ${isLiked ? 'good' : 'warn'}` }, h(Icon, { name: rated }), capital(rated));
}

function Statistics({ message }: { message: Message }) {
  const { message_tokens, answer_tokens, total_tokens, total_price, currency, provider_response_latency } = message;
  const latency = provider_response_latency.toLocaleString(locale, { maximumFractionDigits: 2 });
  return [
    total_tokens > 0 &&
      h('span', { title: `${count(message_tokens)} in, ${count(answer_tokens)} out` }, `${count(total_tokens)} tokens`),
    total_price !== null &&
      h('span', { title: `${total_price} ${currency ?? ''}`.trim() }, money(Number(total_price), currency ?? '')),
    provider_response_latency > 0 && h('span', { title: 'latency of the model provider' }, `${latency} s`),
  ];
}
