import type { Message } from '../../contract/message.ts';
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
  for await (const answer of answers) yield Buffer.from(`${JSON.stringify(testOf(answer, convert))}\n`);
}

function testOf({ doc, earlier, review, model_provider, model }: ReviewedAnswer, convert: Convert) {
  const { query, answer, created_at, retriever_resources }: Message = JSON.parse(doc);
  const before = earlier.map((text): Message => JSON.parse(text));
  const turns = before.flatMap((message) => [`User: ${message.query}`, `Assistant: ${message.answer}`]);
  const text = (value: string) => literal(convert(value));
  return {
    vars: {
      input: text(turns.length === 0 ? query : [...turns, `User: ${query}`].join('\n\n')),
      actual: text(answer),
      context: text(retriever_resources.map(({ content }) => content).join('\n\n')),
    },
    assert: [{ type: 'factuality', value: text(review.expected_answer ?? '') }],
    metadata: {
      app_id: review.app_id,
      conversation_id: review.conversation_id,
      message_id: review.message_id,
      model_provider,
      model,
      labels: review.labels.map(convert),
      created_at: isoTime(created_at),
      reviewed_at: isoTime(review.updated_at),
    },
  };
}

/**
 * promptfoo reads a text as a template, and one that begins with `file:` or `package:` as the name of a file, which it may execute.
 * What users and models wrote stays text: an expression prints each opening of a template, and nothing before such a name.
 */
const literal: Convert = (text) => text.replace(/^(?=\s*(?:file|package):)|\{[{%#]/gi, (opening) => `{{"${opening}"}}`);
