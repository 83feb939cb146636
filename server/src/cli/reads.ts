import type { ReadListed } from '../contract/audit.ts';
import { limits } from '../contract/limits.ts';
import { listReads } from '../domain/activity/list-reads.ts';
import type { Store } from '../domain/store/store.ts';
import { print, printTable, timeOf, visible } from './command.ts';

type Query = Omit<Parameters<typeof listReads>[1], 'limit' | 'cursor'>;

/** `backscroll audit --reads`: who read what, newest first. */
export async function printReads(store: Store, query: Query, limit: number, isJson: boolean): Promise<void> {
  const reads = await readSome(store, query, limit);
  if (isJson) for (const read of reads) print(JSON.stringify(read));
  else printTable([['time', 'by', 'operation', 'what'], ...reads.map(row)]);
}

async function readSome(store: Store, query: Query, limit: number): Promise<ReadListed[]> {
  const reads: ReadListed[] = [];
  for (let cursor: string | null | undefined; cursor !== null && reads.length < limit; ) {
    const count = Math.min(limit - reads.length, limits.listRowsMax);
    const page = await listReads(store, { ...query, limit: count, ...(cursor && { cursor }) });
    reads.push(...page.data);
    cursor = page.next_cursor;
  }
  return reads;
}

function row(read: ReadListed): string[] {
  const { at, key_id, key_name, person_id, person_name, operation, app_id, app_name, conversation_id, user, words } =
    read;
  const id = key_id ?? person_id ?? '';
  const name = key_name ?? person_name;
  const what = [
    ...(words === null ? [] : [`"${words}"`]),
    ...(conversation_id === null ? [] : [`conversation ${conversation_id}`]),
    ...(user === null ? [] : [`of ${user}`]),
    ...(app_id === null ? [] : [`in ${app_name ?? app_id}`]),
  ];
  return [timeOf(at), visible(name ? `${name} (${id})` : id), operation, visible(what.join(' ')) || 'everything'];
}
