import { drawnRange, heightOf } from './drawn-range.ts';
import type { History, Row, Start } from './transcript-history.ts';

/** This many pixels before the end of the loaded messages, more are read. */
const readAheadPixels = 12_000;
/** Empty room above for messages that are not loaded, so that loading them does not move the messages in the window. */
const roomPixelsMax = 200_000;

/** With the first message loaded, the room above may be wrong by this much, until the first message comes near. */
const driftPixelsMax = 2_000;

export type Parts = { scroller: HTMLElement; above: HTMLElement; list: HTMLElement; below: HTMLElement };

/** Functions of the view that a scroll needs: a new history, and callbacks for changes and failures. */
type View = { open: () => History; redraw: () => void; fail: (error: unknown) => void };

/**
 * Which messages of a conversation are drawn, and where. Only those near the window are in the page; above and below
 * them is empty room of the others' height. A message in the window never moves by itself: if a message above turns out
 * taller than estimated, the empty room above shrinks, and the scroll position is not changed, because that would end a
 * scroll that is under way. Decision 0022 has the measurements of the alternative.
 */
export class Scroll {
  history: History;
  /** The number of messages of the conversation, as far as it is known. */
  total = 0;
  /** The history that replaces it once it is read, unless the user goes elsewhere before. */
  #next: History | undefined;
  #repeat: (() => Promise<void>) | undefined;
  /** The range of the drawn rows. */
  from = 0;
  to = 0;
  /** Whether the window stays at the newest message. */
  isPinned = true;
  /** The number of new messages that the user has not seen. */
  unseen = 0;
  /** Top of the first loaded row, in pixels. */
  #base = 0;
  /** The message that the window goes to; undefined once it is there, or the user scrolls. */
  #target: string | undefined;
  /** Position of the window for the target. */
  #aim = 0;
  #parts: Parts | undefined;
  readonly #view: View;

  constructor(view: View) {
    this.#view = view;
    this.history = view.open();
  }

  attach(parts: Parts): void {
    this.#parts = parts;
  }

  get scroller(): HTMLElement | undefined {
    return this.#parts?.scroller;
  }

  get isReading(): boolean {
    return (this.#next ?? this.history).isReading;
  }

  /** Goes to the newest message, which is read again if it is not loaded. */
  toNewest(): Promise<void> {
    this.unseen = 0;
    return this.#openAt('newest', !this.history.hasNewer);
  }

  toBeginning(): Promise<void> {
    return this.#openAt('beginning', !this.history.hasOlder);
  }

  /** Goes to a message, so that it begins where the window begins. */
  toMessage(id: string): Promise<void> {
    return this.#openAt({ id }, this.indexOf(id) >= 0);
  }

  /** The place of a message in the loaded rows, or -1. */
  indexOf(id: string): number {
    return this.#rows.findIndex(({ message }) => message.id === id);
  }

  async #openAt(start: Start, isLoaded: boolean): Promise<void> {
    const goThere = () => {
      this.#next = undefined;
      this.isPinned = start === 'newest';
      const { rows } = this.history;
      this.#target = start === 'newest' ? undefined : start === 'beginning' ? rows[0]?.message.id : start.id;
    };
    if (isLoaded && this.#rows.length > 0) {
      goThere();
      this.#approach();
      return this.#draw();
    }
    const history = this.#view.open();
    this.#next = history;
    const load = () => history.open(start);
    await this.#read(history, load, () => {
      this.history = history;
      [this.from, this.to] = [0, 0];
      this.#base = history.hasOlder ? this.#room() : 0;
      goThere();
      this.#place();
      this.#approach();
    });
  }

  /** Moves the window to the target; returns whether it moved. */
  #approach(): boolean {
    const at = this.#target === undefined ? -1 : this.indexOf(this.#target);
    if (at < 0 || this.#parts === undefined) return false;
    const { scroller } = this.#parts;
    const before = scroller.scrollTop;
    scroller.scrollTop = Math.round(this.#base + this.#sum(0, at));
    this.#aim = scroller.scrollTop;
    return Math.abs(this.#aim - before) > 1 || at < this.from || at >= this.to;
  }

  /** Reads new and changed messages. */
  async refresh(changedIds?: ReadonlySet<string>): Promise<void> {
    const { history } = this;
    const isAtEnd = this.isPinned && !history.hasNewer;
    // Without ids anything may have changed since it was read.
    if (changedIds?.size === 0) await history.rereadRange(this.from, this.to);
    const fresh = await history.refresh(changedIds);
    if (history !== this.history || (fresh === undefined && changedIds?.size !== 0)) return;
    if (isAtEnd && history.hasNewer) return this.toNewest();
    if (!isAtEnd) this.unseen += fresh ?? 0;
    this.#draw();
  }

  /** Called after the window moved; returns whether other rows are drawn, and then settled. */
  moved(): boolean {
    const parts = this.#parts;
    if (parts === undefined) return false;
    const { scrollTop, clientHeight, scrollHeight } = parts.scroller;
    const wasPinned = this.isPinned;
    if (Math.abs(scrollTop - this.#aim) > 2) this.#target = undefined;
    this.isPinned = !this.history.hasNewer && scrollTop + clientHeight >= scrollHeight - 4;
    if (this.isPinned) this.unseen = 0;
    const isRedrawn = this.#choose() || wasPinned !== this.isPinned;
    if (isRedrawn) this.#view.redraw();
    this.#readNear();
    return isRedrawn;
  }

  /** Called after rows were drawn or changed their size: measures them, and keeps the rows in the window where they are. */
  settle(): void {
    if (this.#parts === undefined || this.history.rows.length === 0) return;
    this.#measure();
    this.#place();
    // The rows between may have other heights than estimated: it goes on until it is there.
    if (!this.#approach()) this.#target = undefined;
    if (this.#choose()) this.#view.redraw();
    this.#readNear();
  }

  #draw(): void {
    this.#choose();
    this.#view.redraw();
  }

  get #rows(): Row[] {
    return this.history.rows;
  }

  #sum(from: number, to: number): number {
    return heightOf(this.#rows.slice(from, to));
  }

  /** Start of the window. */
  #top({ scroller }: Parts): number {
    return this.isPinned ? this.#base + this.#sum(0, this.#rows.length) - scroller.clientHeight : scroller.scrollTop;
  }

  #measure(): void {
    const { list } = this.#parts as Parts;
    let y = this.#base + this.#sum(0, this.from);
    const top = this.#top(this.#parts as Parts);
    for (let i = this.from; i < this.to; i += 1) {
      const row = this.#rows[i];
      const element = list.children[i - this.from];
      if (row === undefined || element === undefined) break;
      const { height } = element.getBoundingClientRect();
      y += row.height;
      // The row is above the window, whose position is rounded: the rows below it stay, so the rows above it move.
      if (y < top + 1 && !this.isPinned) this.#base -= height - row.height;
      row.height = height;
      this.history.estimate += (height - this.history.estimate) / 50;
    }
  }

  #place(): void {
    const { scroller, above, below } = this.#parts as Parts;
    const shift = this.#shift();
    // Before the heights change: a browser that finds the room too small moves the window to its end.
    const top = scroller.scrollTop + shift;
    this.#base += shift;
    above.style.height = `${this.#base + this.#sum(0, this.from)}px`;
    below.style.height = `${this.#sum(this.to, this.#rows.length) + (this.history.hasNewer ? roomPixelsMax : 0)}px`;
    if (this.isPinned) scroller.scrollTop = scroller.scrollHeight;
    else if (shift !== 0) scroller.scrollTop = top;
  }

  /** Distance that all rows must move for the space above to be right. Integers, because browsers round scroll positions. */
  #shift(): number {
    if (!this.history.hasOlder) {
      const isWrong = this.from === 0 || this.#base < 0 || this.#base > driftPixelsMax;
      return isWrong ? -Math.floor(this.#base) : 0;
    }
    const room = this.#room();
    return this.#base < room / 4 || this.#base > 2 * room ? Math.round(room - this.#base) : 0;
  }

  /** The estimated height of the older messages. */
  #room(): number {
    const count = Math.max(this.total - this.history.knownCount, 20);
    return Math.min(roomPixelsMax, count * this.history.estimate);
  }

  /** Chooses the rows to draw; returns whether they changed. */
  #choose(): boolean {
    const parts = this.#parts;
    if (parts === undefined) return false;
    const top = this.#top(parts) - this.#base;
    const window = { top, bottom: top + parts.scroller.clientHeight };
    const { from, to } = drawnRange(this.#rows, this, window);
    const isChanged = from !== this.from || to !== this.to;
    [this.from, this.to] = [from, to];
    return isChanged;
  }

  /** Reads more if the window is near the end of the loaded messages. */
  #readNear(): void {
    const parts = this.#parts;
    if (parts === undefined || this.#next !== undefined || this.#rows.length === 0) return;
    const top = this.#top(parts);
    const end = this.#base + this.#sum(0, this.#rows.length);
    if (this.history.hasOlder && top - this.#base < readAheadPixels) void this.readOlder();
    else if (this.history.hasNewer && end - top < readAheadPixels) void this.#readNewer();
  }

  readOlder(): Promise<void> {
    const { history } = this;
    const load = () => history.older();
    return this.#read(history, load, (added) => {
      this.#base -= this.#sum(0, added.length);
      this.from += added.length;
      this.to = Math.min(this.to + added.length, history.rows.length);
    });
  }

  #readNewer(): Promise<void> {
    const { history } = this;
    const load = () => history.newer();
    return this.#read(history, load, (dropped) => {
      this.#base += heightOf(dropped);
      this.from = Math.max(this.from - dropped.length, 0);
      this.to = Math.max(this.to - dropped.length, 0);
    });
  }

  /** Runs one read of a history at a time. The result is dropped if the user went elsewhere meanwhile. */
  async #read<T>(history: History, load: () => Promise<T>, show: (loaded: T) => void): Promise<void> {
    if (history.isReading) return;
    history.isReading = true;
    try {
      const loaded = await load();
      history.isReading = false;
      if (history !== this.history && history !== this.#next) return;
      show(loaded);
      this.#draw();
    } catch (error) {
      // If the user still waits for it, `isReading` stays set: a failed read is repeated only when the user asks for it.
      history.isReading = history === (this.#next ?? this.history);
      if (!history.isReading) return;
      this.#repeat = () => {
        history.isReading = false;
        return this.#read(history, load, show);
      };
      this.#view.fail(error);
    }
  }

  retry(): void {
    const repeat = this.#repeat;
    this.#repeat = undefined;
    if (repeat === undefined) this.#readNear();
    else void repeat();
  }
}
