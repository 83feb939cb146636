import { notFound } from '../../domain/errors.ts';
import type { LargePage, PageReads } from '../../domain/messages/list-messages.ts';
import type { MessagePage, PageTag } from '../../domain/messages/page-cache.ts';
import { isInDoubt } from '../../domain/store/doubts.ts';
import type { Metrics } from '../observe/metrics.ts';

/** When the upstream owns the data, a page that only it may serve does not exist here. */
export const ownedPages = (reads: PageReads, metrics: Metrics): PageReads => ({
  current: (key, dataVersion) => {
    const page = reads.current(key, dataVersion);
    return page && isServed(page) ? page : undefined;
  },
  list: async (...parameters) => {
    const page = await reads.list(...parameters);
    if (isInDoubt(page.tag)) metrics.countEvent('responder', 'doubt');
    if (page.kind === 'large' ? await isServedLarge(page) : isServed(page)) return page;
    throw notFound('the conversation is not up to date here');
  },
});

/** Links to uploaded files can only be signed by their owner. */
const unsignedLink = '"url":null';

function isServed(page: MessagePage | PageTag): boolean {
  if (isInDoubt(page.tag)) return false;
  if (page.kind === 'tag') return true;
  const { docs } = page;
  return !Buffer.from(docs.buffer, docs.byteOffset, docs.byteLength).includes(unsignedLink);
}

/** A large page that is not served is closed. */
async function isServedLarge(page: LargePage): Promise<boolean> {
  let isServed = false;
  try {
    isServed = !isInDoubt(page.tag) && !(await page.includes(unsignedLink));
  } finally {
    if (!isServed) page.close();
  }
  return isServed;
}
