import { type ComponentChildren, el, h, useEffect, useRef, useState } from '../../shared/dom.ts';
import { count, counted, ListEnd } from '../components/ui.ts';
import { useList } from '../hooks/use-list.ts';
import { pathOf, request } from '../state/api.ts';
import { hrefOf, hrefWith } from '../state/route.ts';
import type { ChildChunk, SearchCounts, SegmentWithChunks } from '../state/types.ts';
import { ChunkEntry } from './chunk-entry.ts';

type Place = readonly [dataset: string, document: string, segment: string];
type Props = { place: Place; row: SegmentWithChunks; isTarget: boolean; chunk: string | undefined; saved: () => void };

/** A segment with its chunks. */
export function SegmentEntry({ place, row, isTarget, chunk, saved }: Props) {
  const { id, position, content, word_count, child_chunk_count, child_chunks } = row;
  const path = pathOf(['admin', 'datasets', place[0], 'documents', place[1], 'segments', id, 'child_chunks']);
  const entry = (listed: ChildChunk) =>
    h(ChunkEntry, { key: listed.id, path: `${path}/${listed.id}`, listed, isTarget: listed.id === chunk, saved });
  return h(
    'li',
    { id, tabIndex: -1, class: isTarget ? 'segment stack target' : 'segment stack' },
    el(
      'div.row',
      el('h2', h('a', { href: hrefOf('knowledge', ...place) }, `Segment ${position}`)),
      el('span.soft', `${counted(child_chunk_count, 'chunk')}, ${counted(word_count, 'word')}`),
      h(Citations, { place }),
    ),
    child_chunk_count === 0
      ? el('p.as-written', content)
      : el('details.whole', el('summary', 'Text of the whole segment'), el('div.as-written', content)),
    child_chunks
      ? el('ol.plain.stack', child_chunks.map(entry))
      : child_chunk_count > 0 && h(PagedChunks, { path, entry }),
  );
}

type ChunksProps = { path: string; entry: (chunk: ChildChunk) => ComponentChildren };

/** The chunks of a page of segments were too many for one response. */
function PagedChunks({ path, entry }: ChunksProps) {
  const list = useList<ChildChunk>(path);
  return [
    el('ol.plain.stack', list.rows.map(entry)),
    h(ListEnd, { list, nothing: 'This segment has no child chunks.' }),
  ];
}

/** In how many answers the segment is cited, once it is visible. Nothing if there is no search. */
function Citations({ place: [dataset_id, document_id, segment_id] }: { place: Place }) {
  const element = useRef<HTMLSpanElement>(null);
  const [counts, setCounts] = useState<SearchCounts>();
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => {
      if (!entry?.isIntersecting) return;
      observer.disconnect();
      const path = pathOf(['admin', 'search', 'counts'], { segment_id });
      request<SearchCounts>(path).then(
        ({ body }) => setCounts(body),
        () => undefined,
      );
    });
    if (element.current !== null) observer.observe(element.current);
    return () => observer.disconnect();
  }, [segment_id]);
  if (counts === undefined) return h('span', { ref: element });
  const { all, max, disliked } = counts;
  if (all === 0) return el('span.soft', 'not cited');
  const text = `cited in ${all >= max ? `${count(max)}+ answers` : counted(all, 'answer')}`;
  const place = { segment_id, document_id, dataset_id };
  const link = (text: string, more = {}) => h('a', { href: hrefWith(['conversations'], { ...place, ...more }) }, text);
  return [
    link(text),
    disliked > 0 && el('span.badge.warn', link(`${count(disliked)} disliked`, { rating: 'dislike' })),
  ];
}
