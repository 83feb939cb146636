import { el, h } from '../../shared/dom.ts';
import { Marked } from '../components/marked-text.ts';
import { ListEnd } from '../components/ui.ts';
import { useList } from '../hooks/use-list.ts';
import { useSettled } from '../hooks/use-settled.ts';
import { pathOf } from '../state/api.ts';
import { hrefWith } from '../state/route.ts';
import type { KnowledgeHit } from '../state/types.ts';

/** Segments and chunks of a knowledge base, or of all, with these words. */
export function Hits({ q, dataset_id }: { q: string; dataset_id: string | undefined }) {
  const words = useSettled(q);
  const list = useList<KnowledgeHit>(pathOf(['admin', 'search'], { in: 'knowledge', q: words, dataset_id }));
  return [
    h(
      'ol',
      { class: 'plain hits', 'aria-label': 'Hits' },
      list.rows.map((hit) => {
        const { dataset_id, document_id, segment_id, child_chunk_id, document_name, dataset_name } = hit;
        const place = [dataset_id, document_id, segment_id, child_chunk_id].filter((id) => id !== null);
        return h(
          'li',
          { key: place.join() },
          h('a', { href: hrefWith(['knowledge', ...place], { words }) }, document_name || document_id),
          el('span.soft', ` ${dataset_name}, ${child_chunk_id === null ? 'segment' : 'chunk'}`),
          el('p.as-written', h(Marked, { text: hit.snippet, ranges: hit.ranges })),
        );
      }),
    ),
    h(ListEnd, { list, nothing: 'No segment or chunk has these words.' }),
  ];
}
