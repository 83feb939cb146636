import type { History, Row } from './transcript-history.ts';

/** Drawn on either side of the window, and how little of that may be left before more is drawn, in pixels. */
const aheadMax = 1_600;
const aheadMin = 900;
/** So far from the end of what is held, more is read. */
const readAhead = 12_000;
/** Room kept above for messages that are not held, so that reading them does not move what one looks at. */
const roomMax = 200_000;

/** With the beginning held, the room above may be wrong by so much, until the beginning comes near. */
const driftMax = 2_000;

export type Parts = { scroller: HTMLElement; above: HTMLElement; list: HTMLElement; below: HTMLElement };

/**
 * Which messages of a conversation are drawn, and where. Only those near the window are in the page; above and below
 * them is empty room of the height that the others take. What one looks at never moves by itself: where a message above
 * turns out taller than thought, the empty room above gives way, and the position of the scroll bar is left alone, as
 * touching it would end a scroll that is under way.
 */
export class Scroll {
  history: History;
  /** The drawn rows. */
  from = 0;
  to = 0;
  /** Stays at the newest end. */
  isPinned = true;
  isReading = false;
  /** New messages that came while one looked elsewhere. */
  unseen = 0;
  /** Where the first row that is held begins. */
  #base = 0;
  #parts: Parts | undefined;
  readonly #open: () => History;
  readonly #total: () => number;
  readonly #redraw: () => void;
  readonly #fail: (error: unknown) => void;

  constructor(open: () => History, total: () => number, redraw: () => void, fail: (error: unknown) => void) {
    this.#open = open;
    this.#total = total;
    this.#redraw = redraw;
    this.#fail = fail;
    this.history = open();
  }

  attach(parts: Parts): void {
    this.#parts = parts;
  }

  /** Goes to the newest end, reading anew where that is not held. */
  async toNewest(): Promise<void> {
    const isThere = this.history.rows.length > 0 && !this.history.hasNewer && !this.history.isDisconnected;
    this.isPinned = true;
    this.unseen = 0;
    if (isThere) return this.#draw();
    const history = this.#open();
    // What is still being read is for the history that this one replaces.
    this.isReading = false;
    await this.#read(async () => {
      await history.open();
      this.history = history;
      this.isPinned = true;
      this.#base = history.hasOlder ? this.#room() : 0;
    });
  }

  async refresh(): Promise<void> {
    const { history } = this;
    const isAtEnd = this.isPinned && !history.hasNewer;
    const fresh = await history.refresh();
    if (fresh === undefined || history !== this.history) return;
    if (!isAtEnd) this.unseen += fresh;
    this.#draw();
  }

  /** After the window moved. */
  moved(): void {
    const parts = this.#parts;
    if (parts === undefined) return;
    const { scrollTop, clientHeight, scrollHeight } = parts.scroller;
    const wasPinned = this.isPinned;
    this.isPinned = !this.history.hasNewer && scrollTop + clientHeight >= scrollHeight - 4;
    if (this.isPinned && !this.history.isDisconnected) this.unseen = 0;
    if (this.#choose() || wasPinned !== this.isPinned) this.#redraw();
    this.#readNear();
  }

  /** After rows were drawn, or changed their size: takes their heights, and keeps what one looks at where it is. */
  settle(): void {
    if (this.#parts === undefined || this.history.rows.length === 0) return;
    this.#measure();
    this.#place();
    if (this.#choose()) this.#redraw();
    this.#readNear();
  }

  #draw(): void {
    this.#choose();
    this.#redraw();
  }

  get #rows(): Row[] {
    return this.history.rows;
  }

  #sum(from: number, to: number): number {
    let sum = 0;
    for (let i = from; i < to; i += 1) sum += (this.#rows[i] as Row).height;
    return sum;
  }

  /** Where the window begins. */
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
      // A row that ends above the window: what is below it stays, so what is above it moves.
      if (y <= top && !this.isPinned) this.#base -= height - row.height;
      row.height = height;
      this.history.estimate += (height - this.history.estimate) / 50;
    }
  }

  #place(): void {
    const { scroller, above, below } = this.#parts as Parts;
    const shift = this.#shift();
    this.#base += shift;
    above.style.height = `${this.#base + this.#sum(0, this.from)}px`;
    below.style.height = `${this.#sum(this.to, this.#rows.length) + (this.history.hasNewer ? roomMax : 0)}px`;
    if (this.isPinned) scroller.scrollTop = scroller.scrollHeight;
    else if (shift !== 0) scroller.scrollTop += shift;
  }

  /** How far everything must move for the room above to be right. Whole pixels: others would be rounded. */
  #shift(): number {
    if (!this.history.hasOlder) {
      const isWrong = this.from === 0 || this.#base < 0 || this.#base > driftMax;
      return isWrong ? -Math.floor(this.#base) : 0;
    }
    const room = this.#room();
    return this.#base < room / 4 || this.#base > 2 * room ? Math.round(room - this.#base) : 0;
  }

  /** What the older messages are likely to need. */
  #room(): number {
    const count = Math.max(this.#total() - this.history.knownCount, 20);
    return Math.min(roomMax, count * this.history.estimate);
  }

  /** Chooses the rows to draw; says whether they are others than before. */
  #choose(): boolean {
    const parts = this.#parts;
    if (parts === undefined) return false;
    const { from, to } = this;
    const rows = this.#rows;
    const top = this.#top(parts);
    const bottom = top + parts.scroller.clientHeight;
    const drawnTop = this.#base + this.#sum(0, from);
    const drawnBottom = drawnTop + this.#sum(from, Math.min(to, rows.length));
    const isEnough =
      to > from &&
      to <= rows.length &&
      (from === 0 || drawnTop <= top - aheadMin) &&
      (to === rows.length || drawnBottom >= bottom + aheadMin);
    if (isEnough) return false;
    let y = this.#base;
    let first = 0;
    while (first < rows.length - 1 && y + (rows[first] as Row).height < top - aheadMax) {
      y += (rows[first] as Row).height;
      first += 1;
    }
    let end = first;
    while (end < rows.length && (y < bottom + aheadMax || end === first)) {
      y += (rows[end] as Row).height;
      end += 1;
    }
    this.from = first;
    this.to = end;
    return first !== from || end !== to;
  }

  /** Reads more where the window comes near the end of what is held. */
  #readNear(): void {
    const parts = this.#parts;
    if (parts === undefined || this.isReading || this.#rows.length === 0) return;
    const top = this.#top(parts);
    const end = this.#base + this.#sum(0, this.#rows.length);
    if (this.history.hasOlder && top - this.#base < readAhead) void this.readOlder();
    else if (this.history.hasNewer && !this.history.isDisconnected && end - top < readAhead) void this.#readNewer();
  }

  readOlder(): Promise<void> {
    return this.#read(async () => {
      const { history } = this;
      const { added } = await history.older();
      if (history !== this.history) return;
      this.#base -= this.#sum(0, added.length);
      this.from += added.length;
      this.to = Math.min(this.to + added.length, history.rows.length);
    });
  }

  #readNewer(): Promise<void> {
    return this.#read(async () => {
      const { history } = this;
      const dropped = await history.newer();
      if (history !== this.history) return;
      this.#base += dropped.reduce((sum, { height }) => sum + height, 0);
      this.from = Math.max(this.from - dropped.length, 0);
      this.to = Math.max(this.to - dropped.length, 0);
    });
  }

  /** One after the other. */
  async #read(read: () => Promise<void>): Promise<void> {
    if (this.isReading) return;
    this.isReading = true;
    try {
      await read();
      this.isReading = false;
      this.#draw();
    } catch (error) {
      // What failed is tried again when somebody asks for it, not by itself.
      this.#fail(error);
    }
  }

  /** After a failure, on demand. */
  again(): void {
    this.isReading = false;
    if (this.#rows.length === 0) void this.toNewest();
    else this.moved();
  }
}
