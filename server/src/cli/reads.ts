import type { ReadListed } from '../contract/audit.ts';
import { listReads } from '../domain/activity/list-reads.ts';
import { readAll } from '../domain/paging.ts';
import type { Store } from '../domain/store/store.ts';
import { printRows, timeOf, visible } from './command.ts';

type Query = Omit<Parameters<typeof listReads>[1], 'limit' | 'cursor'>;

/** `backscroll audit --reads`: who read what, newest first. */
export async function printReads(store: Store, query: Query, limit: number, isJson: boolean): Promise<void> {
  const reads = await readAll((page) => listReads(store, { ...query, ...page }), limit);
  printRows(reads, isJson, ['time', 'by', 'operation', 'what'], row);
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
