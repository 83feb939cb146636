/** The fields that decide the order of a message. `second` is its time in whole seconds. */
export type MessageKey = {
  id: string;
  conversation_id: string;
  parent_message_id: string | null;
  second: number;
};

/**
 * Messages of one conversation and one second, in the order in which they are stored, which is the order in which they are
 * read: parents before children, otherwise as given.
 */
function orderSecond<K extends MessageKey>(keys: readonly K[]): K[] {
  if (keys.length === 1) return [...keys];
  const byId = new Map(keys.map((key) => [key.id, key]));
  const ordered = new Set<K>();
  for (const key of keys) {
    // The ancestors that are not in the order yet. A cycle ends at the first message that is met again.
    const chain = new Set<K>();
    let next: K | undefined = key;
    while (next !== undefined && !ordered.has(next) && !chain.has(next)) {
      chain.add(next);
      next = byId.get(next.parent_message_id ?? '');
    }
    for (const one of [...chain].reverse()) ordered.add(one);
  }
  return [...ordered];
}

const isSameSecond = (a: MessageKey, b: MessageKey): boolean =>
  a.second === b.second && a.conversation_id === b.conversation_id;

/** Orders pages of keys that are sorted by conversation and time. A second at the end of a page waits for the next page. */
export async function* orderMessages<K extends MessageKey>(pages: AsyncIterable<readonly K[]>): AsyncGenerator<K[]> {
  let pending: K[] = [];
  for await (const page of pages) {
    const ordered: K[] = [];
    for (const key of page) {
      const [first] = pending;
      if (first !== undefined && !isSameSecond(first, key)) {
        ordered.push(...orderSecond(pending));
        pending = [];
      }
      pending.push(key);
    }
    yield ordered;
  }
  yield orderSecond(pending);
}
