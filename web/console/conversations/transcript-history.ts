import { pathOf, request } from '../parts/api.ts';
import { limits } from '../parts/server-rules.ts';
import type { Message, MessagePage } from '../parts/types.ts';

/** A message and the room it takes: measured once it was drawn, an estimate before. */
export type Row = { message: Message; height: number };

/** A run of messages, read with one `first_id`. It is known by its ends, so that it can be let go and read again. */
type Batch = { first_id: string | null; newest: string; oldest: string; count: number };

const pageMessages = limits.pageMessagesMax;
/** Runs held at once. The rest of a long conversation stays in the service until somebody scrolls there. */
const batchesMax = 20;
/** Pages read to find where new messages meet those we know; with more than that between, we begin anew. */
const bridgeMax = 10;

/** What is known of a conversation: runs of messages, newest first, of which neighbours are held. */
export class History {
  readonly #path: readonly string[];
  readonly #signal: AbortSignal;
  #batches: Batch[] = [];
  /** The newest and the oldest run that is held. */
  #first = 0;
  #last = -1;
  #hasMore = false;
  #etag: string | null = null;
  /** What is held, oldest first. */
  rows: Row[] = [];
  /** Set where so much is new that what we know no longer meets it. */
  isDisconnected = false;
  isOpen = false;
  /** The height of a message that was not drawn yet. */
  estimate = 240;

  constructor(path: readonly string[], signal: AbortSignal) {
    this.#path = path;
    this.#signal = signal;
  }

  get hasOlder(): boolean {
    return this.#last < this.#batches.length - 1 || this.#hasMore;
  }

  get hasNewer(): boolean {
    return this.#first > 0;
  }

  /** Messages that were seen so far, held or not. */
  get knownCount(): number {
    return this.#batches.reduce((sum, { count }) => sum + count, 0);
  }

  /** Begins at the newest end. */
  async open(): Promise<void> {
    const { body, etag } = await this.#read(null);
    const rows = this.#rowsOf(body.data.toReversed());
    this.#batches = rows.length > 0 ? [batchOf(null, rows)] : [];
    this.#first = 0;
    this.#last = this.#batches.length - 1;
    this.#hasMore = body.has_more;
    this.#etag = etag;
    this.rows = rows;
    this.isOpen = true;
  }

  /** Reads what lies before the rows held; gives the rows put before them, and how many were let go at the other end. */
  async older(): Promise<{ added: Row[]; dropped: number }> {
    const held = this.#batches[this.#last] as Batch;
    const beyond = this.#batches[this.#last + 2];
    const { messages, hasMore, meets } = await this.#between(held.oldest, beyond?.newest);
    const added = this.#rowsOf(messages);
    if (beyond === undefined || !meets) {
      this.#batches.length = this.#last + 1;
      this.#hasMore = hasMore;
    }
    if (added.length > 0) {
      this.#last += 1;
      this.#batches[this.#last] = batchOf(held.oldest, added);
      this.rows = [...added, ...this.rows];
    }
    let dropped = 0;
    while (this.#last - this.#first >= batchesMax) {
      dropped += (this.#batches[this.#first++] as Batch).count;
    }
    this.rows.length -= dropped;
    return { added, dropped };
  }

  /** Reads again what lies after the rows held; gives the rows let go at the other end. */
  async newer(): Promise<Row[]> {
    const run = this.#batches[this.#first - 1] as Batch;
    const held = this.#batches[this.#first] as Batch;
    const { messages, meets } = await this.#between(run.first_id, held.newest);
    if (!meets) {
      this.isDisconnected = true;
      return [];
    }
    const added = this.#rowsOf(messages);
    Object.assign(run, batchOf(run.first_id, added));
    this.#first -= 1;
    this.rows.push(...added);
    const dropped: Row[] = [];
    while (this.#last - this.#first >= batchesMax) {
      const far = this.#batches[this.#last--] as Batch;
      dropped.push(...this.rows.splice(0, far.count));
    }
    return dropped;
  }

  /** Asks whether anything is new or changed; gives the number of new messages, undefined where all is as it was. */
  async refresh(): Promise<number | undefined> {
    const front = this.#batches[0];
    if (front === undefined) {
      await this.open();
      return this.rows.length === 0 ? undefined : this.rows.length;
    }
    const { body, etag } = await this.#read(null, this.#etag);
    if (body === undefined) return undefined;
    this.#etag = etag;
    let messages = body.data.toReversed();
    const replaced = new Map(messages.map((message) => [message.id, message]));
    for (const row of this.rows.slice(-messages.length)) row.message = replaced.get(row.message.id) ?? row.message;
    let at = messages.findIndex(({ id }) => id === front.newest);
    if (at < 0 && messages[0] !== undefined) {
      const more = await this.#between(messages[0].id, front.newest);
      if (!more.meets) {
        this.isDisconnected = true;
        return messages.length;
      }
      messages = [...more.messages, ...messages];
      at = -1;
    }
    const fresh = this.#rowsOf(messages.slice(at + 1));
    if (fresh.length > 0) this.#append(fresh);
    return fresh.length;
  }

  /** Puts new messages at the newest end, into a run of their own where the newest is full. */
  #append(fresh: Row[]): void {
    const front = this.#batches[0] as Batch;
    const isHeld = !this.hasNewer;
    if (front.count + fresh.length <= pageMessages) {
      front.count += fresh.length;
      front.newest = fresh.at(-1)?.message.id ?? front.newest;
    } else {
      front.first_id = fresh[0]?.message.id ?? null;
      this.#batches.unshift(batchOf(null, fresh));
      this.#last += 1;
      if (!isHeld) this.#first += 1;
    }
    if (isHeld) this.rows.push(...fresh);
  }

  /** Messages older than one and newer than another, oldest first; one page of them where the other is not given. */
  async #between(first_id: string | null, until: string | undefined) {
    let messages: Message[] = [];
    let from = first_id;
    for (let pages = 0; pages < bridgeMax; pages += 1) {
      const { body } = await this.#read(from);
      const page = body.data.toReversed();
      const at = until === undefined ? -1 : page.findIndex(({ id }) => id === until);
      messages = [...page.slice(at + 1), ...messages];
      if (until === undefined || at >= 0 || !body.has_more)
        return { messages, hasMore: body.has_more, meets: until === undefined || at >= 0 };
      from = page[0]?.id ?? from;
    }
    return { messages, hasMore: true, meets: false };
  }

  async #read(first_id: string | null, etag: string | null = null) {
    const query = { first_id, limit: pageMessages, page_order: 'newest_first' };
    return request<MessagePage>(pathOf(this.#path, query), {
      signal: this.#signal,
      ...(etag !== null && { headers: { 'if-none-match': etag } }),
    });
  }

  #rowsOf(messages: readonly Message[]): Row[] {
    return messages.map((message) => ({ message, height: this.estimate }));
  }
}

function batchOf(first_id: string | null, rows: readonly Row[]): Batch {
  const newest = rows.at(-1)?.message.id ?? '';
  return { first_id, newest, oldest: rows[0]?.message.id ?? '', count: rows.length };
}
