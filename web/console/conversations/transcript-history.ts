import { type ApiError, pathOf, request } from '../state/api.ts';
import { limits } from '../state/server-rules.ts';
import type { FeedbackTexts, LocatedPage, Message, MessagePage } from '../state/types.ts';

/** Whether an error means that the conversation does not exist, rather than one of its messages. */
export async function isGone(path: readonly string[], error: ApiError, signal: AbortSignal): Promise<boolean> {
  if (error.status !== 404) return false;
  return request(pathOf(path), { signal }).then(
    () => false,
    ({ status }: ApiError) => status === 404,
  );
}

/** A message with the text of its feedback, which is not part of it. */
export type ShownMessage = Message & { feedback_content?: string | undefined };
/** A message and its height: estimated until it has been drawn, then measured. */
export type Row = { message: ShownMessage; height: number };

/** Start of a history: at the newest message, at the first one, or in the middle at the message with this id. */
export type Start = 'newest' | 'beginning' | { id: string };

/** Messages that were read with one `first_id`. Its ends are stored, so that it can be dropped and read again. */
type Batch = { first_id: string | null; newest: string; oldest: string; count: number };

const pageMessages = limits.pageMessagesMax;
/** Messages of the newest page, which is what opens first and is read again after each change. */
const newestMessages = limits.pageMessagesDefault;
/** Batches that are loaded at once. The rest of a long conversation is read when the user scrolls there. */
const batchesMax = 20;
/** Pages that are read to connect new messages with the loaded ones. With more between them, the transcript starts again. */
const bridgePagesMax = 10;

/**
 * The known part of a conversation: batches of messages, newest first. Consecutive ones are loaded. Pages only go back in
 * time, so a history that begins in the middle first requests the id of a message that is half a page newer, and reads the
 * page before that; what is newer is found the same way, page by page. The cost does not depend on the length of the
 * conversation.
 */
export class History {
  readonly #path: readonly string[];
  readonly #signal: AbortSignal;
  #batches: Batch[] = [];
  /** The newest and the oldest loaded batch. */
  #first = 0;
  #last = -1;
  #hasMore = false;
  /** Whether there are messages that are newer than the first batch and have not been read. */
  #hasUnknownNewer = false;
  #etag: string | null = null;
  /** The loaded messages, oldest first. */
  rows: Row[] = [];
  /** Set if there are so many new messages that they could not be connected with the loaded ones. */
  isDisconnected = false;
  isOpen = false;
  /** The estimated height of a message that has not been drawn yet. */
  estimate = 240;

  constructor(path: readonly string[], signal: AbortSignal) {
    this.#path = path;
    this.#signal = signal;
  }

  get hasOlder(): boolean {
    return this.#last < this.#batches.length - 1 || this.#hasMore;
  }

  get hasNewer(): boolean {
    return this.#first > 0 || this.#hasUnknownNewer;
  }

  /** The number of messages in all known batches, loaded or not. */
  get knownCount(): number {
    return this.#batches.reduce((sum, { count }) => sum + count, 0);
  }

  /** Reads the batch with the start. */
  async open(start: Start = 'newest'): Promise<void> {
    const first_id =
      start === 'newest'
        ? null
        : start === 'beginning'
          ? await this.#locate(undefined, pageMessages - 1)
          : await this.#locate(start.id, pageMessages / 2);
    const { body, etag } = await this.#read(first_id, null, start === 'newest' ? newestMessages : pageMessages);
    const rows = this.#rowsOf(body.data.toReversed());
    this.#batches = rows.length > 0 ? [batchOf(first_id, rows)] : [];
    this.#first = 0;
    this.#last = this.#batches.length - 1;
    this.#hasMore = body.has_more;
    this.#hasUnknownNewer = first_id !== null;
    this.#etag = first_id === null ? etag : null;
    this.rows = rows;
    this.isOpen = true;
  }

  /** The `first_id` of the page that has this many newer messages than a message; null for the newest page. */
  async #locate(message_id: string | undefined, newer: number): Promise<string | null> {
    const path = pathOf([...this.#path, 'locate'], { message_id, newer });
    return (await request<LocatedPage>(path, { signal: this.#signal })).body.first_id;
  }

  /** Reads the batch before the loaded rows; returns the rows that were added, and how many were dropped at the other end. */
  async older(): Promise<{ added: Row[]; dropped: number }> {
    const oldest = this.#batches[this.#last] as Batch;
    const nextKnown = this.#batches[this.#last + 2];
    const { messages, hasMore, isConnected } = await this.#between(oldest.oldest, nextKnown?.newest);
    const added = this.#rowsOf(messages);
    if (nextKnown === undefined || !isConnected) {
      this.#batches.length = this.#last + 1;
      this.#hasMore = hasMore;
    }
    if (added.length > 0) {
      this.#last += 1;
      this.#batches[this.#last] = batchOf(oldest.oldest, added);
      this.rows = [...added, ...this.rows];
    }
    let dropped = 0;
    while (this.#last - this.#first >= batchesMax) {
      dropped += (this.#batches[this.#first++] as Batch).count;
    }
    this.rows.length -= dropped;
    return { added, dropped };
  }

  /** Reads the batch after the loaded rows; returns the rows that were dropped at the other end. */
  async newer(): Promise<Row[]> {
    const known = this.#batches[this.#first - 1];
    const { newest } = this.#batches[this.#first] as Batch;
    const first_id = known === undefined ? await this.#locate(newest, pageMessages - 1) : known.first_id;
    const { messages, isConnected } = await this.#between(first_id, newest);
    if (!isConnected) {
      this.isDisconnected = true;
      return [];
    }
    const added = this.#rowsOf(messages);
    if (known === undefined) {
      this.#hasUnknownNewer = first_id !== null;
      if (added.length > 0) this.#batches.unshift(batchOf(first_id, added));
      this.#last += added.length > 0 ? 1 : 0;
    } else {
      Object.assign(known, batchOf(first_id, added));
      this.#first -= 1;
    }
    this.rows.push(...added);
    const dropped: Row[] = [];
    while (this.#last - this.#first >= batchesMax) {
      const far = this.#batches[this.#last--] as Batch;
      dropped.push(...this.rows.splice(0, far.count));
    }
    return dropped;
  }

  /**
   * Reads new messages, and those that have changed; returns the number of new ones, undefined if nothing has changed. A
   * history that begins in the middle reads new messages when the user comes there.
   */
  async refresh(changedIds: ReadonlySet<string> = new Set()): Promise<number | undefined> {
    const hasChanged = await this.#reread(changedIds);
    return this.#hasUnknownNewer ? hasChanged : ((await this.#readNew()) ?? hasChanged);
  }

  /** Reads the messages of a range again, by one request; the newest page is read by `refresh`. */
  async rereadRange(from: number, to: number): Promise<void> {
    const rows = this.rows.slice(from, this.hasNewer ? Math.min(to, this.rows.length - 1) : to);
    const next = this.rows[from + rows.length];
    if (rows.length === 0 || next === undefined) return;
    const { body } = await this.#read(next.message.id, null, Math.min(rows.length, pageMessages));
    for (const row of rows) row.message = body.data.find(({ id }) => id === row.message.id) ?? row.message;
  }

  /** Reads changed messages that are loaded and not on the newest page; returns 0 if there were any. */
  async #reread(changedIds: ReadonlySet<string>): Promise<0 | undefined> {
    const end = this.rows.length - (this.hasNewer ? 1 : newestMessages);
    const places = this.rows
      .slice(0, Math.max(end, 0))
      .flatMap((row, i) => (changedIds.has(row.message.id) ? [i] : []));
    if (places.length === 0) return undefined;
    for (const i of places) {
      // The page of one message before the next one is this message.
      const [row, next] = [this.rows[i], this.rows[i + 1]];
      const { body } = await this.#read(next?.message.id ?? null, null, 1);
      if (row !== undefined && body.data[0]?.id === row.message.id) row.message = body.data[0];
    }
    return 0;
  }

  async #readNew(): Promise<number | undefined> {
    const front = this.#batches[0];
    if (front === undefined) {
      await this.open();
      return this.rows.length === 0 ? undefined : this.rows.length;
    }
    const { body, etag } = await this.#read(null, this.#etag, newestMessages);
    if (body === undefined) return undefined;
    this.#etag = etag;
    let messages = body.data.toReversed();
    const replaced = new Map(messages.map((message) => [message.id, message]));
    for (const row of this.rows.slice(-messages.length)) row.message = replaced.get(row.message.id) ?? row.message;
    let at = messages.findIndex(({ id }) => id === front.newest);
    if (at < 0 && messages[0] !== undefined) {
      const more = await this.#between(messages[0].id, front.newest);
      if (!more.isConnected) {
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

  /** Adds new messages at the newest end, in a batch of their own if the newest is full. */
  #append(fresh: Row[]): void {
    const front = this.#batches[0] as Batch;
    const isNewestLoaded = !this.hasNewer;
    if (front.count + fresh.length <= pageMessages) {
      front.count += fresh.length;
      front.newest = fresh.at(-1)?.message.id ?? front.newest;
    } else {
      front.first_id = fresh[0]?.message.id ?? null;
      this.#batches.unshift(batchOf(null, fresh));
      this.#last += 1;
      if (!isNewestLoaded) this.#first += 1;
    }
    if (isNewestLoaded) this.rows.push(...fresh);
  }

  /** Messages older than `first_id` and newer than `until`, oldest first; one page of them without `until`. */
  async #between(first_id: string | null, until: string | undefined) {
    let messages: ShownMessage[] = [];
    let from = first_id;
    for (let pages = 0; pages < bridgePagesMax; pages += 1) {
      const { body } = await this.#read(from);
      const page = body.data.toReversed();
      const at = until === undefined ? -1 : page.findIndex(({ id }) => id === until);
      messages = [...page.slice(at + 1), ...messages];
      if (until === undefined || at >= 0 || !body.has_more)
        return { messages, hasMore: body.has_more, isConnected: until === undefined || at >= 0 };
      from = page[0]?.id ?? from;
    }
    return { messages, hasMore: true, isConnected: false };
  }

  async #read(first_id: string | null, etag: string | null = null, limit: number = pageMessages) {
    const query = { first_id, limit, page_order: 'newest_first' };
    const page = await request<MessagePage>(pathOf([...this.#path, 'messages'], query), {
      signal: this.#signal,
      ...(etag !== null && { headers: { 'if-none-match': etag } }),
    });
    await this.#addFeedback(page.body?.data ?? []);
    return page;
  }

  /** Reads the texts of the page's feedback in one request, if there is feedback. */
  async #addFeedback(messages: readonly ShownMessage[]): Promise<void> {
    const message_id = messages.filter(({ feedback }) => feedback !== null).map(({ id }) => id);
    if (message_id.length === 0) return;
    const path = pathOf([...this.#path, 'feedback'], { message_id });
    const { body } = await request<FeedbackTexts>(path, { signal: this.#signal });
    const texts = new Map(body.data.map(({ message_id, content }) => [message_id, content]));
    for (const message of messages) message.feedback_content = texts.get(message.id);
  }

  #rowsOf(messages: readonly ShownMessage[]): Row[] {
    return messages.map((message) => ({ message, height: this.estimate }));
  }
}

function batchOf(first_id: string | null, rows: readonly Row[]): Batch {
  const newest = rows.at(-1)?.message.id ?? '';
  return { first_id, newest, oldest: rows[0]?.message.id ?? '', count: rows.length };
}
