import type { Message } from '../../contract/message.ts';
import { isUuid } from '../../contract/primitives.ts';
import { isoTime } from '../iso-time.ts';
import type { LargeText } from '../large-text.ts';
import type { ReviewedAnswer } from '../store/reviews.ts';
import type { Store } from '../store/store.ts';
import { redact } from './redact.ts';
import { type ReviewFilters, selectReviews } from './reviews.ts';

/** One test case of promptfoo in a line for each review that is done and has an expected answer, newest message first. */
export async function exportEvals(
  store: Store,
  { label, app_id, from, to }: ReviewFilters,
  isRedacted: boolean,
  signal: AbortSignal,
): Promise<LargeText> {
  const selection = await selectReviews(store, { state: 'done', label, app_id, from, to }, 0);
  const { chunks, close } = await store.reviews.evals(selection, signal);
  return { chunks: linesOf(chunks, isRedacted ? redact : (text) => text), close };
}

type Convert = (text: string) => string;

async function* linesOf(answers: AsyncIterable<ReviewedAnswer>, convert: Convert): AsyncGenerator<Uint8Array> {
  // The digits of a UUID may look like those of a telephone.
  const text: Convert = (value) => (isUuid(value) ? value : literal(convert(value)));
  for await (const answer of answers) {
    const test = JSON.stringify(testOf(answer), (_, value) => (typeof value === 'string' ? text(value) : value));
    yield Buffer.from(`${test}\n`);
  }
}

function testOf({ doc, earlier, review, model_provider, model }: ReviewedAnswer) {
  const { query, answer, created_at, retriever_resources }: Message = JSON.parse(doc);
  const before = earlier.map((text): Message => JSON.parse(text));
  const turns = before.flatMap((message) => [`User: ${message.query}`, `Assistant: ${message.answer}`]);
  return {
    vars: {
      input: turns.length === 0 ? query : [...turns, `User: ${query}`].join('\n\n'),
      actual: answer,
      context: retriever_resources.map(({ content }) => content).join('\n\n'),
    },
    assert: [{ type: 'factuality', value: review.expected_answer ?? '' }],
    metadata: {
      app_id: review.app_id,
      conversation_id: review.conversation_id,
      message_id: review.message_id,
      model_provider,
      model,
      labels: review.labels,
      created_at: isoTime(created_at),
      reviewed_at: isoTime(review.updated_at),
    },
  };
}

/**
 * promptfoo reads a text as a template, and one that begins with `file:` or `package:` as the name of a file, which it may execute.
 * It does so with every text of a test case. What users and models wrote stays text: an expression prints each opening of a template, and nothing before such a name.
 */
const literal: Convert = (text) => text.replace(/^(?=\s*(?:file|package):)|\{[{%#]/gi, (opening) => `{{"${opening}"}}`);
