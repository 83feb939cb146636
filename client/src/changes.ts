import type { Items } from './lists.ts';
import type { CallOptions } from './options.ts';
import { withQuery } from './paths.ts';
import type { ChangeKind, ChangeOf, ChangePageOf, ChangesQuery } from './requests.ts';
import { limits } from './retry.ts';
import { abortedBy, type Transport } from './transport.ts';

/** Seconds that the service holds a request while nothing changes: less than usual proxies allow. */
const waitSeconds = 20;

/** Of retries, and of milliseconds before a retry: a consumer of the feed continues after every outage. */
const unlimited = limits.timerMillisMax;

/**
 * Pages of the change feed. The service holds a request only after a page without more, so the loop gets such a page as soon
 * as it has read everything.
 */
export async function* changePages<Kind extends ChangeKind>(
  transport: Transport,
  { wait: waitMax = waitSeconds, kinds, ...query }: ChangesQuery<Kind>,
  { retries = unlimited, ...options }: CallOptions,
): Items<ChangePageOf<Kind>> {
  let after = query.after;
  let wait = 0;
  for (;;) {
    const path = withQuery('/admin/changes', { ...query, kinds: kinds?.join(','), after, wait });
    const request = { method: 'GET', path, holdMillis: wait * 1000 } as const;
    const { body: page } = await transport.send<ChangePageOf<Kind>>(request, {
      ...options,
      retries,
      maxWait: unlimited,
    });
    yield page;
    if (!page.has_more && waitMax === 0) return;
    after = page.cursor;
    wait = page.has_more ? 0 : waitMax;
  }
}

/** The entries of the pages. */
export async function* changesIn<Kind extends ChangeKind>(
  pages: Items<ChangePageOf<Kind>>,
  signal: AbortSignal | undefined,
): Items<ChangeOf<Kind>> {
  for await (const { data } of pages) {
    for (const change of data) {
      if (signal?.aborted) throw abortedBy(signal);
      yield change;
    }
  }
}
