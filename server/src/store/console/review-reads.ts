import { limits } from '../../contract/limits.ts';
import { type ReviewState, reviewStates } from '../../contract/reviews/review.ts';
import type { ListRange } from '../../domain/store/admin-reads.ts';
import type {
  ReviewedAnswer,
  ReviewRevision,
  ReviewRow,
  ReviewSelection,
  Reviews,
} from '../../domain/store/reviews.ts';
import type { Engine, ReadEngine } from '../base/engine.ts';
import type { Slots } from '../base/large-responses.ts';
import { type Condition, given, inPeriod, split } from '../base/selection.ts';
import { smallText } from '../base/sized.ts';
import type { Statement } from '../base/statement.ts';
import { type ReviewColumns, reviewColumns, reviewOf } from '../reviews/writes.ts';
import { type List, readList } from './admin-statements.ts';

type MessageRow = Omit<ReviewRow, 'review'> & { created_at: number; conversation_id: string; id: string } & (
    | ReviewColumns
    | { r_state: null }
  );

/** Each state is one range of an index; `new` are messages that need a review, `any` is for one message. */
export const reviews = (engine: ReadEngine): Pick<Reviews, 'list' | 'count'> => ({
  list: async (selection, range) => {
    const parts = await Promise.all(
      statesOf(selection).map((state) => {
        const conditions = conditionsOf(state, selection);
        const { texts: where, values } = split(conditions);
        return readList<MessageRow>(engine, { ...list, where }, values, range);
      }),
    );
    const { rows, has_more } = merge(parts, range);
    const revisions = await findRevisions(engine, rows);
    return { rows: rows.map((row) => ({ ...rowOf(row), revisions: revisions.get(row.id) ?? [] })), has_more };
  },
  count: async (selection) => {
    const counts = await Promise.all((['new', 'open'] as const).map((state) => countOpen(engine, state, selection)));
    const rows = await Promise.all(reviewStates.map((state) => countLabels(engine, state, selection)));
    const byLabel = new Map<string, number>();
    for (const { labels, count } of rows.flat()) {
      for (const label of JSON.parse(labels)) byLabel.set(label, (byLabel.get(label) ?? 0) + count);
    }
    return {
      open: Math.min(limits.reviewsCountedMax, (counts[0] ?? 0) + (counts[1] ?? 0)),
      labels: [...byLabel]
        .map(([label, count]) => ({ label, count }))
        .sort((one, other) => other.count - one.count)
        .slice(0, limits.listRowsMax),
    };
  },
});

async function countOpen({ read }: ReadEngine, state: State, selection: ReviewSelection): Promise<number> {
  const { texts, values } = split(conditionsOf(state, selection));
  const found: Statement<{ count: number }> = `
    SELECT COUNT(*) AS count FROM (SELECT m.id FROM messages m CROSS JOIN conversations c
    WHERE ${texts.join(' AND ')} ORDER BY m.created_at DESC LIMIT ?) s`;
  const [row] = await read(found, ...values, limits.reviewsCountedMax);
  return row?.count ?? 0;
}

function countLabels({ read }: ReadEngine, state: State, selection: ReviewSelection) {
  const { texts, values } = split(conditionsOf(state, selection));
  const counted: Statement<{ labels: string; count: number }> = `
    SELECT labels, COUNT(*) AS count FROM (SELECT r.labels FROM ${list.from}
    WHERE ${texts.join(' AND ')} ORDER BY m.created_at DESC LIMIT ?) s WHERE labels <> '[]' GROUP BY labels`;
  return read(counted, ...values, limits.reviewsCountedMax);
}

type State = ReviewState | 'new' | 'any';

function statesOf({ state, label, assignee, message_id }: ReviewSelection): State[] {
  if (message_id !== undefined && state === undefined) return ['any'];
  const states: State[] = state === undefined ? ['open', 'done', 'ignored'] : [state];
  const hasNew = states.includes('open') && label === undefined && assignee === undefined;
  return hasNew ? ['new', ...states] : states;
}

const list = {
  columns: ['m.created_at, m.conversation_id, m.id, c.app_id', ...reviewColumns],
  texts: {
    doc: 'm.doc',
    user: 'c."user"',
    feedback_content: 'm.feedback_content',
    model_provider: 'm.model_provider',
    model: 'm.model',
  },
  // Both engines read the tables in this order.
  from: `messages m CROSS JOIN conversations c
    LEFT JOIN reviews r ON r.conversation_id = m.conversation_id AND r.message_id = m.id`,
  by: ['m.created_at', 'm.conversation_id', 'm.id'],
  descending: true,
} satisfies List;

function conditionsOf(state: State, selection: ReviewSelection): Condition[] {
  const { label, app_id, assignee, document_id, message_id, unreviewedFrom } = selection;
  return [
    ...given('m.review_state = ?', state === 'any' ? undefined : state),
    ...given('m.id = ?', message_id),
    ['c.conversation_id = m.conversation_id AND c.deleted = 0'],
    ...inPeriod('m.created_at', selection),
    ...(state === 'new' ? inPeriod('m.created_at', { from: unreviewedFrom }) : []),
    ...given(`${state === 'any' ? 'c.app_id' : 'm.listed_app_id'} = ?`, app_id),
    ...(label === undefined ? [] : [contains('r.labels', JSON.stringify(label))]),
    ...given('r.assignee = ?', assignee),
    ...(document_id === undefined ? [] : [contains('m.doc', `"document_id":${JSON.stringify(document_id)}`)]),
  ];
}

/** A JSON text has this part, as `JSON.stringify` writes it. LIKE would ignore case on SQLite. */
const contains = (column: string, part: string): Condition => [`replace(${column}, ?, '') <> ${column}`, part];

/** The newest rows of all states. A part that was cut hides the older rows of the others. */
function merge(parts: readonly { rows: MessageRow[]; has_more: boolean }[], { count }: ListRange) {
  const rows = parts.flatMap((part) => part.rows).sort(newestFirst);
  const ends = parts.flatMap((part) => (part.has_more ? part.rows.slice(-1) : [])).sort(newestFirst);
  const [end] = ends;
  const complete = end === undefined ? rows.length : rows.indexOf(end) + 1;
  const page = rows.slice(0, Math.min(count, complete));
  return { rows: page, has_more: end !== undefined || page.length < rows.length };
}

type FoundRevision = ReviewRevision & { review_message_id: string };

/** By message, newest first. */
async function findRevisions({ read, dialect: { isIn, list } }: ReadEngine, rows: readonly MessageRow[]) {
  if (rows.length === 0) return new Map<string, FoundRevision[]>();
  const found: Statement<FoundRevision> = `
    SELECT review_message_id, child_chunk_id, revision, replaced_at FROM child_chunk_revisions
    WHERE review_message_id IS NOT NULL AND ${isIn('review_message_id')}
    ORDER BY replaced_at DESC, child_chunk_id, revision DESC LIMIT ${limits.reviewRevisionsMax}`;
  return Map.groupBy(await read(found, list(rows.map(({ id }) => id))), (row) => row.review_message_id);
}

function newestFirst(one: MessageRow, other: MessageRow): number {
  if (one.created_at !== other.created_at) return other.created_at - one.created_at;
  if (one.conversation_id !== other.conversation_id) return one.conversation_id < other.conversation_id ? 1 : -1;
  return one.id < other.id ? 1 : -1;
}

function rowOf(row: MessageRow): ReviewRow {
  const { app_id, user, doc, feedback_content, model_provider, model } = row;
  const review = row.r_state === null ? null : reviewOf(row);
  return { app_id, user, doc, feedback_content, model_provider, model, review };
}

/** Messages before an answer in a test case. */
const earlierMax = 10;

/** The newest messages before one, without large ones. Parameters: conversation_id, conversation_id, id, count. */
const findEarlier: Statement<{ doc: string | null }> = `
  SELECT ${smallText('doc')} AS doc FROM messages WHERE conversation_id = ?/*@*/ AND (created_at, sequence) <
    (SELECT created_at, sequence FROM messages WHERE conversation_id = ?/*@*/ AND id = ?)
  ORDER BY created_at DESC, sequence DESC LIMIT ?`;

/** Lists are read by `lists`, copies from a snapshot of the engine. */
export const reviewStore = (engine: Engine, lists: ReadEngine, slots: Slots): Reviews => ({
  ...reviews(lists),
  evals: (selection, signal) => slots.openParts(evals(engine, selection), signal),
});

async function* evals(engine: Engine, selection: ReviewSelection): AsyncGenerator<ReviewedAnswer> {
  const { read, close } = await engine.openSnapshot();
  try {
    const { list } = reviews({ dialect: engine.dialect, read });
    for (let after: ListRange['after']; ; ) {
      const { rows, has_more } = await list(selection, { after, count: limits.listRowsMax });
      for (const { review, ...row } of rows) {
        if (!review?.expected_answer) continue;
        const { conversation_id, message_id } = review;
        const found = await read(findEarlier, conversation_id, conversation_id, message_id, earlierMax);
        yield { ...row, review, earlier: found.flatMap(({ doc }) => doc ?? []).reverse() };
      }
      const last = rows.at(-1);
      if (!has_more || last === undefined) return;
      const { created_at, conversation_id, id } = JSON.parse(last.doc);
      after = [created_at, conversation_id, id];
    }
  } finally {
    close();
  }
}
