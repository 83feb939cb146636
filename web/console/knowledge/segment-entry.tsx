import type { ComponentChildren } from 'preact';
import { counted, Dots, ListEnd } from '../components/ui.tsx';
import { useList } from '../hooks/requests.ts';
import { chunkPath } from '../state/drafts.ts';
import { hrefOf } from '../state/route.ts';
import type { ChildChunk, SegmentWithChunks } from '../state/types.ts';
import { ChunkEntry } from './chunk-entry.tsx';
import { CitedCounts, type Place } from './cited-counts.tsx';

type Props = { place: Place; row: SegmentWithChunks; isTarget: boolean; chunk: string | undefined; saved: () => void };

/** A segment with its chunks. */
export function SegmentEntry({ place, row, isTarget, chunk, saved }: Props) {
  const { id, position, content, word_count, child_chunk_count, child_chunks } = row;
  const path = chunkPath(place);
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
            <CitedCounts place={place} />
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

/** The chunks of a page of segments were too many for one response. */
function PagedChunks({ path, entry }: { path: string; entry: (chunk: ChildChunk) => ComponentChildren }) {
  const list = useList<ChildChunk>(path);
  return [
    <ol class="plain stack">{list.rows.map(entry)}</ol>,
    <ListEnd list={list} nothing="This segment has no child chunks." />,
  ];
}
