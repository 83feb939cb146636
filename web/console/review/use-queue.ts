import { useEffect, useState } from 'preact/hooks';
import { useAttempt, useList, useResponse } from '../hooks/requests.ts';
import { pathOf } from '../state/api.ts';
import { useFilters, useMayWrite } from '../state/route.ts';
import { boundsOfDay, daySeconds, dayText, zone } from '../state/times.ts';
import type { Review, ReviewCounts, ReviewListed } from '../state/types.ts';
import { claimFirst } from './save-review.ts';

/** This many answers before the end of the list, more are read. */
const readAhead = 5;

export type Queue = ReturnType<typeof useQueue>;

/** The answers with the filters in the address, the one that is open (`at`), and the step to the next one. */
export function useQueue(me: string) {
  const { filters, setFilters } = useFilters();
  const { state = 'open', label, app_id, assignee, document_id, at } = filters;
  const mayWrite = useMayWrite('putReview');
  const query = { state: state === 'all' ? '' : state, label, app_id, assignee: assignee === 'me' ? me : assignee };
  const list = useList<ReviewListed>(pathOf(['admin', 'reviews'], { ...query, document_id, limit: 50 }));
  const counts = useCounts(app_id);
  const [saved, setSaved] = useState<ReadonlyMap<string, Review>>(new Map());
  const { error, isBusy, attempt } = useAttempt();
  const [message, setMessage] = useState('');
  const asSaved = (row: ReviewListed) => ({ ...row, review: saved.get(row.message.id) ?? row.review });
  const rows = list.rows.map(asSaved);
  const place = rows.findIndex((row) => row.message.id === at);
  // Not on the pages that are loaded, or in no queue.
  const isElsewhere = at !== undefined && place < 0 && (rows.length > 0 || !list.isLoading);
  const found = useList<ReviewListed>(isElsewhere ? pathOf(['admin', 'reviews'], { message_id: at }) : undefined);
  useEffect(() => {
    if (place >= 0 && place >= rows.length - readAhead) list.more();
  }, [place, rows.length]);
  const keep = (review: Review) => {
    setSaved((before) => new Map(before).set(review.message_id, review));
    counts.reload();
  };
  const reload = () => {
    setSaved(new Map());
    list.reload();
    found.reload();
  };
  const next = () =>
    attempt(async () => {
      const after = rows.slice(place + 1);
      const first = mayWrite ? await claimFirst(after, me) : after[0];
      setMessage(first === undefined ? 'No other answer in this list is free.' : '');
      if (first?.review) keep(first.review);
      if (first !== undefined) setFilters({ at: first.message.id }, 'replace');
    });
  return {
    ...{ state, label, at, list, rows, counts, keep, reload, next, isBusy, message },
    current: rows[place] ?? found.rows.map(asSaved)[0],
    isFinding: found.isLoading,
    error: error ?? found.error,
  };
}

/** How many are left this week, and how often each label was given. */
function useCounts(app_id: string | undefined) {
  const read = (from?: number) => useResponse<ReviewCounts>(pathOf(['admin', 'reviews', 'counts'], { app_id, from }));
  const [all, week] = [read(), read(mondayOf())];
  const reload = () => {
    all.reload();
    week.reload();
  };
  return { labels: all.body?.labels ?? [], left: week.body?.open, reload };
}

/** The start of this week, in the zone of the times. Day 0 was a Thursday. */
function mondayOf(now = new Date()): number | undefined {
  const minutesBehind = zone === 'UTC' ? 0 : now.getTimezoneOffset();
  const day = Math.floor((now.getTime() / 1000 - minutesBehind * 60) / daySeconds);
  return boundsOfDay(dayText((day - ((day + 3) % 7)) * daySeconds))?.[0];
}
