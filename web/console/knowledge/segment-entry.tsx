import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../shared/controls.tsx';
import { count, counted, Dots, ListEnd, Time } from '../components/ui.tsx';
import { useList } from '../hooks/requests.ts';
import { pathOf, request } from '../state/api.ts';
import { draftOf } from '../state/drafts.ts';
import { type FilterChange, hrefOf, hrefWith, useMayWrite } from '../state/route.ts';
import type { ChildChunk, SearchCounts, SegmentWithChunks } from '../state/types.ts';
import { ChunkEditor } from './chunk-editor.tsx';
import { Revisions } from './revisions.tsx';

type Place = readonly [dataset: string, document: string, segment: string];
type Props = { place: Place; row: SegmentWithChunks; isTarget: boolean; chunk: string | undefined; saved: () => void };

/** A segment with its chunks. */
export function SegmentEntry({ place, row, isTarget, chunk, saved }: Props) {
  const { id, position, content, word_count, child_chunk_count, child_chunks } = row;
  const path = pathOf(['admin', 'datasets', place[0], 'documents', place[1], 'segments', id, 'child_chunks']);
  const entry = (listed: ChildChunk) => (
    <ChunkEntry
      key={listed.id}
      path={`${path}/${listed.id}`}
      listed={listed}
      isTarget={listed.id === chunk}
      saved={saved}
    />
  );
  return (
    <li id={id} tabIndex={-1} class={isTarget ? 'segment stack target' : 'segment stack'}>
      <div class="row">
        <h2>
          <a href={hrefOf('knowledge', ...place)}>Segment {position}</a>
        </h2>
        <span class="soft">
          <Dots>
            {counted(child_chunk_count, 'chunk')}
            {counted(word_count, 'word')}
            <Citations place={place} />
          </Dots>
        </span>
      </div>
      {child_chunk_count === 0 ? (
        <p class="as-written">{content}</p>
      ) : (
        <details class="whole">
          <summary class="soft">Text of the whole segment</summary>
          <div class="as-written">{content}</div>
        </details>
      )}
      {child_chunks ? (
        <ol class="plain stack">{child_chunks.map(entry)}</ol>
      ) : (
        child_chunk_count > 0 && <PagedChunks path={path} entry={entry} />
      )}
    </li>
  );
}

type ChunksProps = { path: string; entry: (chunk: ChildChunk) => ComponentChildren };

/** The chunks of a page of segments were too many for one response. */
function PagedChunks({ path, entry }: ChunksProps) {
  const list = useList<ChildChunk>(path);
  return (
    <>
      <ol class="plain stack">{list.rows.map(entry)}</ol>
      <ListEnd list={list} nothing="This segment has no child chunks." />
    </>
  );
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
  if (counts === undefined) return <span ref={element} />;
  const { all, max, disliked } = counts;
  if (all === 0) return 'not cited';
  const text = `cited in ${all >= max ? `${count(max)}+ answers` : counted(all, 'answer')}`;
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
      {disliked > 0 && (
        <span class="badge warn">{link(`${count(disliked)} disliked`, { ...place, rating: 'dislike' })}</span>
      )}
    </>
  );
}

type Mode = { name: 'read' | 'history' } | { name: 'edit'; restored?: string };

type ChunkProps = { path: string; listed: ChildChunk; isTarget: boolean; saved: () => void };

/** One chunk: its text, which can be edited in its place, and its history. */
function ChunkEntry({ path, listed, isTarget, saved }: ChunkProps) {
  const [chunk, setChunk] = useState(listed);
  // Continues with a draft that was open when a session ended.
  const [mode, setMode] = useState<Mode>(() => (draftOf(path) === undefined ? { name: 'read' } : { name: 'edit' }));
  const [message, setMessage] = useState('');
  const mayWrite = useMayWrite('updateChildChunkAsAdmin');
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
  const named = (action: string) => ({ class: 'quiet', 'aria-label': `${action} chunk ${chunk.position}` });
  return (
    <li id={listed.id} tabIndex={-1} class={isTarget ? 'card stack chunk target' : 'card stack chunk'}>
      <div class="row small">
        <h3>Chunk {chunk.position}</h3>
        {chunk.type === 'customized' && <span class="badge">{chunk.type}</span>}
        <span class="soft">
          <Dots>
            {counted(chunk.word_count, 'word')}
            <Time at={chunk.updated_at} form="brief" />
          </Dots>
        </span>
        <span class="good" role="status">
          {message}
        </span>
        {mode.name !== 'edit' && (
          <div class="row tight actions at-end">
            {mayWrite && (
              <Button {...named('Edit')} ref={edit} onClick={() => open({ name: 'edit' })}>
                Edit
              </Button>
            )}
            <Button {...named('History of')} aria-expanded={isHistory} onClick={toggleHistory}>
              History
            </Button>
          </div>
        )}
      </div>
      {mode.name === 'edit' ? (
        <ChunkEditor path={path} restored={mode.restored} close={close} />
      ) : (
        <div class="as-written">{chunk.content}</div>
      )}
      {isHistory && (
        <Revisions path={path} update={setChunk} restore={(restored) => open({ name: 'edit', restored })} />
      )}
    </li>
  );
}
