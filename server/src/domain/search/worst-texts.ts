import type { WorstTexts } from '../../contract/console/knowledge.ts';
import { limits } from '../../contract/limits.ts';
import { days } from '../records/usage.ts';
import type { ReadBudget } from '../store/read-budget.ts';
import type { SearchReads } from '../store/search-reads.ts';
import { filterTerms, firstPosition } from '../words/search-document.ts';
import { anyOf } from './message-candidates.ts';

/** Some of the worst segments may be gone. */
const candidatesMax = 20;
/** Disliked answers that cite one of the texts. More than any installation has in a month. */
const citingMax = 1_000_000;

/** The texts that most disliked answers of some days cite, and how many answers cite one of them: an answer may cite two. */
export async function findWorstTexts(
  reads: SearchReads,
  { since }: { since: number },
  budget: ReadBudget,
): Promise<WorstTexts> {
  const { disliked, rows } = await reads.findWorst(since, candidatesMax);
  const chunks = await reads.readChunks(
    rows.map(({ dataset_id, segment_id: id }) => ({ position: 0, kind: 'segment', dataset_id, id })),
  );
  const data = rows
    .flatMap(({ disliked }, at) => {
      const chunk = chunks[at];
      if (chunk === undefined) return [];
      const { text, bytes: _, child_chunk_id: __, child_chunk_position: ___, ...names } = chunk;
      return [
        {
          ...names,
          text: Array.from(text ?? '')
            .slice(0, limits.listedTextCharsMax)
            .join(''),
          disliked,
        },
      ];
    })
    .slice(0, limits.worstTexts);
  const from = since * days.seconds;
  const tokens = [
    anyOf(data.map(({ segment_id }) => filterTerms.segment(segment_id))),
    anyOf([filterTerms.rating.dislike]),
  ];
  const query = { tokens, from: firstPosition(from), created_from: from };
  const found =
    data.length === 0 ? [] : (await reads.findMessages(query, { usual: citingMax, slow: citingMax }, budget)).hits;
  return { from, disliked, citing: found.length, data };
}
