import type { ReadListed, ReadQuery } from '../../contract/audit.ts';
import { type CursorPage, Paging } from '../paging.ts';
import { selectionOf } from '../store/selection.ts';
import type { Store } from '../store/store.ts';
import { requestedAuthor } from './list-activity.ts';
import { Names } from './names.ts';

const newestFirst = new Paging<ReadListed>(['number', 'string'], ({ at, id }) => [at, id]);

/** A page of the reads, newest first. */
export function listReads(store: Store, query: ReadQuery): Promise<CursorPage<ReadListed>> {
  const author = requestedAuthor(query.key_id, query.person_id);
  return newestFirst.read(query, async (range) => {
    // No stored user contains NUL, and PostgreSQL would reject the parameter.
    if (query.user?.includes('\0')) return { rows: [], has_more: false };
    const { rows, has_more } = await store.admin.listReads(selectionOf(query), author, range);
    const names = new Names();
    for (const { key_id, app_id } of rows) {
      names.addAuthor(key_id);
      names.add('app', app_id);
    }
    await names.read(store);
    const named = rows.map(({ key_id, app_id, conversation_id, user, words, ...row }) => ({
      ...{ ...row, ...names.ofAuthor(key_id), app_id, app_name: names.nameOf('app', app_id) },
      ...{ conversation_id, user, words },
    }));
    return { rows: named, has_more };
  });
}
