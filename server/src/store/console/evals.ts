import { limits } from '../../contract/limits.ts';
import type { ListRange } from '../../domain/store/admin-reads.ts';
import type { ReviewedAnswer, ReviewSelection, Reviews } from '../../domain/store/reviews.ts';
import type { Engine, ReadEngine } from '../base/engine.ts';
import type { Slots } from '../base/large-responses.ts';
import { smallText } from '../base/sized.ts';
import type { Statement } from '../base/statement.ts';
import { reviews } from './review-reads.ts';

/** Messages before an answer in a test case. */
const earlierMax = 10;

/** The newest messages before one, without large ones. Parameters: conversation_id, conversation_id, id, count. */
const findEarlier: Statement<{ doc: string | null }> = `
  SELECT ${smallText('doc')} AS doc FROM messages WHERE conversation_id = ? AND (created_at, sequence) <
    (SELECT created_at, sequence FROM messages WHERE conversation_id = ? AND id = ?)
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
