import { waitingList } from './pass.ts';
import { conditionOf, epoch, Parameters, tables } from './rows/selection.ts';
import type { RunContext } from './run-context.ts';
import { changedSince } from './scan.ts';
import type { SourcePoint } from './state.ts';

const batchConversations = 1_000;

/** A conversation whose messages differ: their number, and the time of the newest, on both sides. */
export type Difference = {
  id: string;
  source: { messages: number; newest: number | null };
  here: { messages: number; newest: number | null } | undefined;
};

/** Compares all selected conversations with the stored ones. Messages that were written after `point` are not counted. */
export async function compareConversations(
  context: RunContext,
  point: SourcePoint,
  visit: (difference: Difference) => void,
): Promise<number> {
  const { source, options, store, signal, state } = context;
  const isLater = changedSince(source, 'messages', 'm', point, point);
  const waiting = new Set(await state.listIds(waitingList, '', Number.MAX_SAFE_INTEGER));
  let compared = 0;
  for (let after = ''; ; ) {
    signal.throwIfAborted();
    const parameters = new Parameters();
    const condition = conditionOf('conversations', options, parameters);
    const isAfter = after === '' ? '' : `AND c.id > ${parameters.bind(after)}::uuid`;
    const isWaiting = `m.id = ANY(${parameters.bind([...waiting])}::uuid[])`;
    const rows = await source.query<{ id: string; messages: number; newest: number | null }>(
      `SELECT c.id, o.messages, o.newest FROM (
         SELECT c.id FROM ${tables.conversations} WHERE ${condition} ${isAfter} ORDER BY c.id LIMIT ${batchConversations}
       ) c CROSS JOIN LATERAL (
         SELECT count(*)::int4 AS messages, ${epoch('max(m.created_at)')} AS newest
         FROM messages m WHERE m.conversation_id = c.id AND NOT ${isLater} AND NOT ${isWaiting}
       ) o ORDER BY c.id`,
      parameters.values,
    );
    const here = await store?.imports.countMessages(rows.map(({ id }) => id));
    for (const { id, messages, newest } of rows) {
      const counted = here?.get(id);
      // Messages may have been added here, or after the point.
      const isSame = counted !== undefined && counted.messages >= messages && (counted.newest ?? 0) >= (newest ?? 0);
      if (!isSame) visit({ id, source: { messages, newest }, here: counted });
    }
    compared += rows.length;
    after = rows.at(-1)?.id ?? '';
    if (rows.length < batchConversations) return compared;
  }
}
