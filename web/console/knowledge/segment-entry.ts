import { type ComponentChildren, el, h, useEffect, useLayoutEffect, useRef, useState } from '../../shared/dom.ts';
import { count, counted, Dots, ListEnd, Time } from '../components/ui.ts';
import { useList } from '../hooks/requests.ts';
import { pathOf, request } from '../state/api.ts';
import { draftOf } from '../state/drafts.ts';
import { type FilterChange, hrefOf, hrefWith, useMayWrite } from '../state/route.ts';
import type { ChildChunk, SearchCounts, SegmentWithChunks } from '../state/types.ts';
import { ChunkEditor } from './chunk-editor.ts';
import { Revisions } from './revisions.ts';

type Place = readonly [dataset: string, document: string, segment: string];
type Props = { place: Place; row: SegmentWithChunks; isTarget: boolean; chunk: string | undefined; saved: () => void };

/** A segment with its chunks. */
export function SegmentEntry({ place, row, isTarget, chunk, saved }: Props) {
  const { id, position, content, word_count, child_chunk_count, child_chunks } = row;
  const path = pathOf(['admin', 'datasets', place[0], 'documents', place[1], 'segments', id, 'child_chunks']);
  const entry = (listed: ChildChunk) =>
    h(ChunkEntry, { key: listed.id, path: `${path}/${listed.id}`, listed, isTarget: listed.id === chunk, saved });
  return h('li', { id, tabIndex: -1, class: isTarget ? 'segment stack target' : 'segment stack' }, [
    el('div.row', [
      el('h2', h('a', { href: hrefOf('knowledge', ...place) }, `Segment ${position}`)),
      el('span.soft', [
        h(Dots, { parts: [counted(child_chunk_count, 'chunk'), counted(word_count, 'word'), h(Citations, { place })] }),
      ]),
    ]),
    child_chunk_count === 0
      ? el('p.as-written', content)
      : el('details.whole', el('summary.soft', 'Text of the whole segment'), el('div.as-written', content)),
    child_chunks
      ? el('ol.plain.stack', child_chunks.map(entry))
      : child_chunk_count > 0 && h(PagedChunks, { path, entry }),
  ]);
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
  if (all === 0) return 'not cited';
  const text = `cited in ${all >= max ? `${count(max)}+ answers` : counted(all, 'answer')}`;
  const place = { segment_id, document_id, dataset_id };
  const link = (text: string, filters: FilterChange) =>
    h('a', { class: 'soft', href: hrefWith(['conversations'], filters) }, text);
  return [
    link(text, place),
    disliked > 0 && ' ',
    disliked > 0 && el('span.badge.warn', link(`${count(disliked)} disliked`, { ...place, rating: 'dislike' })),
  ];
}

type Mode = { name: 'read' | 'history' } | { name: 'edit'; restored?: string };

type ChunkProps = { path: string; listed: ChildChunk; isTarget: boolean; saved: () => void };

/** One chunk: its text, which can be edited in its place, and its history. */
function ChunkEntry({ path, listed, isTarget, saved }: ChunkProps) {
  const [chunk, setChunk] = useState(listed);
  // Continues with a draft that was open when a session ended.
  const [mode, setMode] = useState<Mode>(() => (draftOf(path) === undefined ? { name: 'read' } : { name: 'edit' }));
  const [message, setMessage] = useState('');
  const mayWrite = useMayWrite();
  const edit = useRef<HTMLButtonElement>(null);
  const wasEditing = useRef(false);
  useLayoutEffect(() => {
    if (wasEditing.current && mode.name === 'read') edit.current?.focus();
    wasEditing.current = mode.name === 'edit';
  }, [mode.name]);

  const open = (mode: Mode) => {
    setMessage('');
    setMode(mode);
  };
  const close = (latest = chunk, message = '') => {
    setMode({ name: 'read' });
    if (latest !== chunk) saved();
    setChunk(latest);
    setMessage(message);
  };
  const isHistory = mode.name === 'history';
  const toggleHistory = () => open({ name: isHistory ? 'read' : 'history' });
  const named = (action: string) => ({
    class: 'quiet',
    type: 'button',
    'aria-label': `${action} chunk ${chunk.position}`,
  });
  return h('li', { id: listed.id, tabIndex: -1, class: isTarget ? 'card stack chunk target' : 'card stack chunk' }, [
    el('div.row.small', [
      el('h3', `Chunk ${chunk.position}`),
      chunk.type === 'customized' && el('span.badge', chunk.type),
      el('span.soft', [
        h(Dots, { parts: [counted(chunk.word_count, 'word'), h(Time, { at: chunk.updated_at, form: 'brief' })] }),
      ]),
      h('span', { class: 'good', role: 'status' }, message),
      mode.name !== 'edit' &&
        el('div.row.tight.actions.at-end', [
          mayWrite && h('button', { ...named('Edit'), ref: edit, onClick: () => open({ name: 'edit' }) }, 'Edit'),
          h('button', { ...named('History of'), 'aria-expanded': isHistory, onClick: toggleHistory }, 'History'),
        ]),
    ]),
    mode.name === 'edit'
      ? h(ChunkEditor, { path, restored: mode.restored, close })
      : el('div.as-written', chunk.content),
    isHistory && h(Revisions, { path, update: setChunk, restore: (restored) => open({ name: 'edit', restored }) }),
  ]);
}
