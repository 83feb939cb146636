import { percent } from '../components/format-number.ts';
import { count, counted, Section } from '../components/ui.tsx';
import { useResponse } from '../hooks/requests.ts';
import { pathOf } from '../state/api.ts';
import { hrefOf } from '../state/route.ts';
import type { WorstTexts as Worst } from '../state/types.ts';

/** The texts that most disliked answers cite, each a link to it. Nothing without such answers, or without the search. */
export function WorstTexts() {
  const { body } = useResponse<Worst>(pathOf(['admin', 'search', 'worst']));
  if (body === undefined || body.data.length === 0) return null;
  const { data, disliked, citing } = body;
  return (
    <Section title="The texts that most disliked answers cite">
      <p>
        <strong>{percent(citing, disliked)}</strong> of the {counted(disliked, 'disliked answer')} of the last 30 days{' '}
        {citing === 1 ? 'cites' : 'cite'} {data.length === 1 ? 'this text' : `one of these ${data.length} texts`}.
      </p>
      <div class="card">
        <ol class="plain hits worst">
          {data.map(({ dataset_id, document_id, document_name, segment_id, segment_position, text, disliked }) => (
            <li key={segment_id}>
              <a href={hrefOf('knowledge', dataset_id, document_id, segment_id)}>
                <span class="two-lines">{text}</span>
                <strong class="tabular">{count(disliked)} disliked</strong>
                <span class="soft small whole-row">
                  {document_name || document_id}, segment {segment_position}
                </span>
              </a>
            </li>
          ))}
        </ol>
      </div>
    </Section>
  );
}
