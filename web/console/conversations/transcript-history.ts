import { limits } from '../../../server/src/contract/limits.ts';
import { type ApiError, pathOf, request } from '../state/api.ts';
import type { LocatedPage, Message, MessageDetails, MessagePage } from '../state/types.ts';

/** Whether an error means that the conversation does not exist, rather than one of its messages. */
export async function isGone(path: readonly string[], error: ApiError, signal: AbortSignal): Promise<boolean> {
  if (error.status !== 404) return false;
  return request(pathOf(path), { signal }).then(
    () => false,
    ({ status }: ApiError) => status === 404,
  );
}

/** A message with what readers of `/v1` do not see. */
export type ShownMessage = Message & { details?: MessageDetails | undefined };
/** A message and its height: estimated until it has been drawn, then measured. */
export type Row = { message: ShownMessage; height: number };

/** Start of a history: at the newest message, at the first one, or in the middle at the message with this id. */
export type Start = 'newest' | 'beginning' | { id: string };

const pageMessages = limits.pageMessagesMax;
/** Messages of the newest page, which is what opens first and is read again after each change. */
const newestMessages = limits.pageMessagesDefault;
/** Messages that are loaded at once. The rest of a long conversation is read when the user scrolls there. */
const rowsMax = 20 * pageMessages;

/**
 * The loaded part of a conversation. Pages only go back in time, so a history that begins in the middle first requests the id
 * of a message that is half a page newer, and reads the page before that; what is newer is found the same way, page by page.
 * The cost does not depend on the length of the conversation.
 */
export class History {
  readonly #path: readonly string[];
  readonly #signal: AbortSignal;
  #etag: string | null = null;
  /** The loaded messages, oldest first. */
  rows: Row[] = [];
  /** Whether there are messages before and after the loaded ones. */
  hasOlder = false;
  hasNewer = false;
  isOpen = false;
  /** Set while a page is read, and after it failed, until it is read again. */
  isReading = false;
  /** The number of messages that are loaded, or newer and were dropped. */
  knownCount = 0;
  /** The estimated height of a message that has not been drawn yet. */
  estimate = 240;

  constructor(path: readonly string[], signal: AbortSignal) {
    this.#path = path;
    this.#signal = signal;
  }

  /** Reads the page with the start. */
  async open(start: Start = 'newest'): Promise<void> {
    const first_id =
      start === 'newest'
        ? null
        : start === 'beginning'
          ? await this.#locate(undefined, pageMessages - 1)
          : await this.#locate(start.id, pageMessages / 2);
    const { body, etag } = await this.#read(first_id, null, start === 'newest' ? newestMessages : pageMessages);
    this.rows = this.#rowsOf(body.data.toReversed());
    this.knownCount = this.rows.length;
    this.hasOlder = body.has_more;
    this.hasNewer = first_id !== null;
    this.#etag = first_id === null ? etag : null;
    this.isOpen = true;
  }

  /** The `first_id` of the page that has this many newer messages than a message; null for the newest page. */
  async #locate(message_id: string | undefined, newer: number): Promise<string | null> {
    const path = pathOf([...this.#path, 'locate'], { message_id, newer });
    return (await request<LocatedPage>(path, { signal: this.#signal })).body.first_id;
  }

  /** Reads the page before the loaded rows; returns the rows that were added. Those at the other end may be dropped. */
  async older(): Promise<Row[]> {
    const { body } = await this.#read(this.rows[0]?.message.id ?? null);
    const added = this.#rowsOf(body.data.toReversed());
    this.rows = [...added, ...this.rows];
    this.knownCount += added.length;
    this.hasOlder = body.has_more;
    this.hasNewer ||= this.rows.length > rowsMax;
    this.rows.length = Math.min(this.rows.length, rowsMax);
    return added;
  }

  /** Reads the page after the loaded rows; returns the rows that were dropped at the other end. */
  async newer(): Promise<Row[]> {
    const newest = this.rows.at(-1)?.message.id;
    const first_id = await this.#locate(newest, pageMessages - 1);
    const messages = (await this.#read(first_id)).body.data.toReversed();
    const at = messages.findIndex(({ id }) => id === newest);
    // So many came since that the page does not have it.
    if (at < 0) return [];
    this.hasNewer = first_id !== null;
    this.rows.push(...this.#rowsOf(messages.slice(at + 1)));
    const dropped = this.rows.splice(0, Math.max(0, this.rows.length - rowsMax));
    this.knownCount = Math.max(this.knownCount - dropped.length, this.rows.length);
    this.hasOlder ||= dropped.length > 0;
    return dropped;
  }

  /**
   * Reads new messages, and those that have changed; returns the number of new ones, undefined if nothing has changed. A
   * history that begins in the middle reads new messages when the user comes there.
   */
  async refresh(changedIds: ReadonlySet<string> = new Set()): Promise<number | undefined> {
    const hasChanged = await this.#reread(changedIds);
    return this.hasNewer ? hasChanged : ((await this.#readNew()) ?? hasChanged);
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
    for (const i of places) await this.rereadRange(i, i + 1);
    return places.length === 0 ? undefined : 0;
  }

  async #readNew(): Promise<number | undefined> {
    if (this.rows.length === 0) {
      await this.open();
      return this.rows.length === 0 ? undefined : this.rows.length;
    }
    const { body, etag } = await this.#read(null, this.#etag, newestMessages);
    if (body === undefined) return undefined;
    this.#etag = etag;
    const messages = body.data.toReversed();
    const replaced = new Map(messages.map((message) => [message.id, message]));
    for (const row of this.rows.slice(-messages.length)) row.message = replaced.get(row.message.id) ?? row.message;
    // The newest rows were dropped meanwhile.
    if (this.hasNewer) return 0;
    const loaded = new Set(this.rows.map(({ message }) => message.id));
    const at = messages.findLastIndex(({ id }) => loaded.has(id));
    // So many are new that the newest page does not reach those that are loaded.
    this.hasNewer = at < 0 && messages.length > 0;
    if (this.hasNewer) return messages.length;
    const fresh = this.#rowsOf(messages.slice(at + 1));
    this.rows.push(...fresh);
    this.knownCount += fresh.length;
    return fresh.length;
  }

  async #read(first_id: string | null, etag: string | null = null, limit: number = pageMessages) {
    const query = { first_id, limit, page_order: 'newest_first' };
    const page = await request<MessagePage>(pathOf([...this.#path, 'messages'], query), {
      signal: this.#signal,
      ...(etag !== null && { headers: { 'if-none-match': etag } }),
    });
    await this.#addDetails(page.body?.data ?? []);
    return page;
  }

  /** Reads the details of the page's messages in one request. */
  async #addDetails(messages: readonly ShownMessage[]): Promise<void> {
    if (messages.length === 0) return;
    const path = pathOf([...this.#path, 'details'], { message_id: messages.map(({ id }) => id) });
    const { body } = await request<{ data: MessageDetails[] }>(path, { signal: this.#signal });
    const details = new Map(body.data.map((one) => [one.message_id, one]));
    for (const message of messages) message.details = details.get(message.id);
  }

  #rowsOf(messages: readonly ShownMessage[]): Row[] {
    return messages.map((message) => ({ message, height: this.estimate }));
  }
}
