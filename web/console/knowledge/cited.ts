import { useReading } from '../hooks/requests.ts';
import { pathOf, request } from '../state/api.ts';
import { hrefOf } from '../state/route.ts';
import type { LocatedPage, MessagePage } from '../state/types.ts';

/** Of an answer: its question, its address, and the text that it cites. */
type Cited = { question: string; href: string; text: string };

/** The answer that led to a segment, by the parts of its address. It may be gone: then the segment is shown all the same. */
export function useCited(place: string | undefined, segment_id: string | undefined) {
  const { body, error } = useReading(place ?? '', (signal) => read(place?.split('/') ?? [], segment_id, signal));
  return { cited: body ?? undefined, isLoading: body === undefined && error === undefined };
}

async function read(place: readonly string[], segment_id = '', signal: AbortSignal): Promise<Cited | null> {
  const [app_id, conversation_id, message_id] = place;
  if (app_id === undefined || conversation_id === undefined || message_id === undefined) return null;
  const path = ['admin', 'apps', app_id, 'conversations', conversation_id];
  const { body: located } = await request<LocatedPage>(pathOf([...path, 'locate'], { message_id }), { signal });
  const page = pathOf([...path, 'messages'], { first_id: located.first_id, limit: 1 });
  const [message] = (await request<MessagePage>(page, { signal })).body.data;
  const resource = message?.retriever_resources.find((one) => one.segment_id === segment_id);
  if (message === undefined || resource === undefined) return null;
  return { question: message.query, href: hrefOf('conversations', ...place), text: resource.content };
}

/** The chunk with the text that an answer cites; else the one that shares most words with it, as after an edit. */
export function citedChunk<T extends { content: string }>(chunks: readonly T[], text: string): T | undefined {
  const same = chunks.find(({ content }) => content.trim() === text.trim());
  if (same !== undefined) return same;
  const cited = wordsIn(text);
  const shares = chunks.map((chunk) => ({
    chunk,
    shared: [...wordsIn(chunk.content)].filter((word) => cited.has(word)).length,
  }));
  const [most] = shares.toSorted((one, other) => other.shared - one.shared);
  return most && most.shared > 0 ? most.chunk : undefined;
}

const wordsIn = (text: string): Set<string> => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu));
