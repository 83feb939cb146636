import { useEffect, useRef, useState } from 'preact/hooks';
import { count, counted } from '../components/ui.tsx';
import { pathOf, request } from '../state/api.ts';
import { type FilterChange, hrefWith } from '../state/route.ts';
import type { SearchCounts } from '../state/types.ts';

export type Place = readonly [dataset: string, document: string, segment: string];
type Cited = { place: Place | readonly [dataset: string, document: string] };

/** How many answers cite a document or a segment, once it is visible. Nothing if there is no search. */
export function CitedCounts({ place: [dataset_id, document_id, segment_id] }: Cited) {
  const element = useRef<HTMLSpanElement>(null);
  const [counts, setCounts] = useState<SearchCounts>();
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => {
      if (!entry?.isIntersecting) return;
      observer.disconnect();
      const path = pathOf(['admin', 'search', 'counts'], { dataset_id, document_id, segment_id });
      request<SearchCounts>(path).then(
        ({ body }) => setCounts(body),
        () => undefined,
      );
    });
    if (element.current !== null) observer.observe(element.current);
    return () => observer.disconnect();
  }, [document_id, segment_id]);
  if (counts === undefined) return <span ref={element} />;
  const { all, max, disliked } = counts;
  if (all === 0) return 'not cited';
  const text = `cited in ${all >= max ? `${count(max)}+ answers` : counted(all, 'answer')}`;
  const bad = disliked >= max ? `${count(max)}+` : count(disliked);
  const place = { segment_id, document_id, dataset_id };
  const link = (text: string, filters: FilterChange) => (
    <a class="soft" href={hrefWith(['conversations'], filters)}>
      {text}
    </a>
  );
  return (
    <>
      {link(text, place)}
      {disliked > 0 && ' '}
      {disliked > 0 && <span class="badge warn">{link(`${bad} disliked`, { ...place, rating: 'dislike' })}</span>}
    </>
  );
}
