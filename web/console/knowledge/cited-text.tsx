import { limits } from '../../../server/src/contract/limits.ts';
import { Button, Status, useOpen } from '../../shared/controls.tsx';
import { ErrorNote } from '../components/ui.tsx';
import { readPages, useReading } from '../hooks/requests.ts';
import { chunkPath } from '../state/drafts.ts';
import { useMayWrite } from '../state/route.ts';
import type { ChildChunk, RetrieverResource } from '../state/types.ts';
import { ChunkEntry } from './chunk-entry.tsx';
import { citedChunk } from './cited.ts';
import { CitedCounts } from './cited-counts.tsx';

/** A text that an answer cites: how many answers cite it, and its chunk, which can be edited there. */
export function CitedText({ resource }: { resource: RetrieverResource }) {
  const { id, dataset_id, document_id, segment_id } = resource;
  const mayWrite = useMayWrite('updateChildChunkAsAdmin');
  const [isOpen, setOpen] = useOpen(`${id} chunk`);
  return (
    <>
      <p class="soft cited-counts">
        <CitedCounts place={[dataset_id, document_id, segment_id]} />
      </p>
      {isOpen ? (
        <CitedChunk resource={resource} />
      ) : (
        mayWrite && <Button onClick={() => setOpen(true)}>Edit here</Button>
      )}
    </>
  );
}

/** The chunk with the cited text, open to be edited. */
export function CitedChunk({ resource, saved = () => undefined }: { resource: RetrieverResource; saved?: () => void }) {
  const { dataset_id, document_id, segment_id, content } = resource;
  const path = chunkPath([dataset_id, document_id, segment_id]);
  const list = `${path}?limit=${limits.listRowsMax}`;
  const { body, error, reload } = useReading(list, (signal) => readPages<ChildChunk>(list, signal));
  if (error !== undefined) return <ErrorNote error={error} retry={reload} />;
  if (body === undefined) return <Status>Loading…</Status>;
  const chunk = citedChunk(body, content);
  if (chunk === undefined) return <Status>No chunk of the segment has words of this text.</Status>;
  return (
    <ol class="plain">
      <ChunkEntry path={`${path}/${chunk.id}`} listed={chunk} isTarget={false} saved={saved} isEdited />
    </ol>
  );
}
