import { limits } from '../../../server/src/contract/limits.ts';
import { Status } from '../../shared/controls.tsx';
import { ErrorNote } from '../components/ui.tsx';
import { type CursorPage, useReading } from '../hooks/requests.ts';
import { request } from '../state/api.ts';
import { chunkPath, readChunk } from '../state/drafts.ts';
import type { ChildChunkRevision } from '../state/types.ts';
import { Diff } from './diff-view.tsx';

/** The text of a chunk before and after the change at a time. */
export function ChunkChange({ place, at }: { place: readonly string[]; at: number }) {
  const path = chunkPath(place);
  const { body, error, reload } = useReading(`${path} ${at}`, (signal) => readChange(path, at, signal));
  if (error !== undefined) return <ErrorNote error={error} retry={reload} />;
  if (body === undefined) return <Status>Loading…</Status>;
  if (body === null) return <p class="soft">The earlier text is not among the newest revisions.</p>;
  return <Diff {...body} label="Old → new" />;
}

async function readChange(path: string, at: number, signal: AbortSignal) {
  const revisions = `${path}/revisions?limit=${limits.listRowsMax}`;
  const { data } = (await request<CursorPage<ChildChunkRevision>>(revisions, { signal })).body;
  const n = data.findIndex(({ replaced_at }) => replaced_at === at);
  const before = data[n]?.content;
  if (before === undefined) return null;
  return { before, after: data[n - 1]?.content ?? (await readChunk(path)).chunk.content };
}
