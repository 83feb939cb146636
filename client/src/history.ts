import type { Items } from './lists.ts';
import { abortedBy } from './transport.ts';
import type { Message, MessagePage } from './types.ts';

/** All messages before one, or all. The next page is requested in advance; leaving the loop aborts that request. */
export async function* messagesBefore(
  first_id: string | undefined,
  load: (first_id: string | undefined, signal: AbortSignal) => Promise<MessagePage>,
  signal: AbortSignal | undefined,
): Items<Message> {
  const loop = new AbortController();
  const abort = () => loop.abort(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort);
  const request = (before: string | undefined): Promise<MessagePage> => {
    const page = load(before, loop.signal);
    // A failure is thrown when the loop reaches the page, and not at all if the loop ends before.
    page.catch(() => undefined);
    return page;
  };
  try {
    let next: Promise<MessagePage> | undefined = request(first_id);
    while (next !== undefined) {
      const { data, has_more }: MessagePage = await next;
      const oldest = data.at(-1);
      next = has_more && oldest ? request(oldest.id) : undefined;
      for (const message of data) {
        if (signal?.aborted) throw abortedBy(signal);
        yield message;
      }
    }
  } finally {
    signal?.removeEventListener('abort', abort);
    loop.abort();
  }
}
