import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button, Fold, Icon } from '../../shared/controls.tsx';
import { RecentActivity } from '../activity/activity.tsx';
import { highlight, plain, wordsOf } from '../components/marked-text.tsx';
import { counted, Dots, ListEnd, Time } from '../components/ui.tsx';
import { useList } from '../hooks/requests.ts';
import { pathOf } from '../state/api.ts';
import { hrefOf, hrefWith, useFilters, useMayWrite } from '../state/route.ts';
import { useShortcut } from '../state/shortcuts.tsx';
import type { DocumentShown, SegmentWithChunks } from '../state/types.ts';
import { citedChunk, useCited } from './cited.ts';
import { CitedCounts } from './cited-counts.tsx';
import { Level, useTrail } from './level.tsx';
import { SegmentEntry } from './segment-entry.tsx';

type Props = { dataset: string; document: string; segment?: string | undefined; chunk?: string | undefined };

/** Segments before the one in the address, and one more: the list backwards starts with that one. */
const earlierAtOnce = 6;

/** A document: its segments with their chunks, from the segment in the address on, and some before it. */
export function DocumentPage({ dataset, document: documentId, segment, chunk }: Props) {
  const [saves, setSaves] = useState(0);
  const { trail, name, shown } = useTrail(dataset, documentId, saves);
  useChunkKeys();
  const path = ['admin', 'datasets', dataset, 'documents', documentId, 'segments'];
  const [start, setStart] = useState(segment);
  const query = { include: 'child_chunks', start_id: start };
  const later = useList<SegmentWithChunks>(pathOf(path, query));
  const earlier = useList<SegmentWithChunks>(
    start === undefined ? undefined : pathOf(path, { ...query, order: 'desc', limit: earlierAtOnce }),
  );
  const rows = [...earlier.rows.slice(1).reverse(), ...later.rows];

  const isLoaded = later.rows.length > 0 && !earlier.isLoading;
  const scrolledTo = useRef<string | undefined>(undefined);
  const focused = useRef<string | undefined>(undefined);
  const { filters } = useFilters();
  const { cited, isLoading: isCitedLoading } = useCited(filters.cited_by, segment);
  const chunks = rows.find(({ id }) => id === segment)?.child_chunks ?? [];
  const found = chunk ?? (cited && citedChunk(chunks, cited.text)?.id);
  const target = isCitedLoading ? undefined : (found ?? segment);
  const element = () => document.getElementById(target ?? '') ?? document.getElementById(segment ?? '');
  // Together with the rows: later, it would take the focus from what the user has begun.
  useLayoutEffect(() => {
    if (target === undefined || focused.current === target || element() === null) return;
    focused.current = target;
    const edit = cited && element()?.querySelector<HTMLElement>('.actions button');
    (edit ?? element())?.focus({ preventScroll: true });
  }, [target, later.rows]);
  useEffect(() => {
    if (!isLoaded || target === undefined || scrolledTo.current === target) return;
    if (segment !== undefined && !rows.some(({ id }) => id === segment)) return setStart(segment);
    scrolledTo.current = target;
    element()?.scrollIntoView({ block: 'start' });
  }, [target, isLoaded, later.rows]);

  // Those that the search found here.
  const words = wordsOf(filters.words ?? '');
  const list = useRef<HTMLOListElement>(null);
  useLayoutEffect(() => highlight(list.current, '.as-written', words));

  const neighbour = (other: DocumentShown['next'] | undefined, rel: 'prev' | 'next', ...words: ComponentChildren[]) =>
    other && (
      <a href={hrefOf('knowledge', dataset, other.id)} rel={rel} title={other.name} class="button quiet">
        {words}
      </a>
    );
  return (
    <Level
      title={name}
      dataset={dataset}
      trail={trail}
      meta={
        shown && (
          <Dots>
            {counted(shown.segment_count, 'segment')}
            {counted(shown.word_count, 'word')}
            <span>
              changed <Time at={shown.changed_at} none="at an unknown time" />
            </span>
            <CitedCounts place={[dataset, documentId]} />
            <a class="soft" href={hrefWith(['review'], { state: 'all', document_id: documentId })}>
              reviews
            </a>
          </Dots>
        )
      }
      actions={
        <nav class="row" aria-label="Documents">
          {cited && (
            <a class="button quiet" href={cited.href}>
              <Icon name="left" />
              Back to the answer
            </a>
          )}
          {neighbour(shown?.previous, 'prev', <Icon name="left" />, 'Previous')}
          {neighbour(shown?.next, 'next', 'Next', <Icon name="right" />)}
        </nav>
      }
    >
      {cited && (
        <p class="cited-by row">
          <span class="soft">Cited by:</span>
          <q class="one-line">{cited.question}</q>
        </p>
      )}
      <Fold key={saves} title="Recent changes">
        <RecentActivity filters={{ dataset_id: dataset, document_id: documentId }} />
      </Fold>
      {earlier.hasMore && (
        <Button class="more" onClick={earlier.more}>
          Show earlier segments
        </Button>
      )}
      <div class="document-parts">
        {rows.length > 1 && <Outline rows={rows} place={[dataset, documentId]} segment={segment} />}
        <ol class="plain stack" ref={list}>
          {rows.map((row) => (
            <SegmentEntry
              key={row.id}
              place={[dataset, documentId, row.id]}
              row={row}
              isTarget={row.id === segment}
              chunk={found}
              saved={() => setSaves((count) => count + 1)}
            />
          ))}
        </ol>
      </div>
      <ListEnd list={later} icon="file" nothing="This document has no segments." />
    </Level>
  );
}

type OutlineProps = { rows: readonly SegmentWithChunks[]; place: readonly string[]; segment: string | undefined };

/** The beginnings of the segments that are loaded, where the page has room for them. */
const Outline = ({ rows, place, segment }: OutlineProps) => (
  <nav class="outline small" aria-label="Segments">
    {rows.map(({ id, position, content }) => (
      <a
        key={id}
        class="one-line"
        href={hrefOf('knowledge', ...place, id)}
        aria-current={id === segment ? 'true' : undefined}
      >
        {position}. {plain(content)}
      </a>
    ))}
  </nav>
);

/** `e` edits the chunk that has the focus or is addressed; `j` and `k` move the focus. */
function useChunkKeys(): void {
  const find = () => {
    const chunks = [...document.querySelectorAll<HTMLElement>('.chunk')];
    const focused = chunks.findIndex((one) => one.contains(document.activeElement));
    return { chunks, at: focused < 0 ? chunks.findIndex((one) => one.classList.contains('target')) : focused };
  };
  const move = (by: number) => {
    const { chunks, at } = find();
    chunks[Math.max(0, at + by)]?.focus();
  };
  useShortcut(useMayWrite('updateChildChunkAsAdmin') ? 'e' : undefined, 'Edit the chunk', () => {
    const { chunks, at } = find();
    chunks[at]?.querySelector<HTMLElement>('.actions button')?.click();
  });
  useShortcut('j', 'Next chunk', () => move(1));
  useShortcut('k', 'Previous chunk', () => move(-1));
}
