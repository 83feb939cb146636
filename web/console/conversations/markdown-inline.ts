import { type ComponentChild, h } from '../../shared/dom.ts';

/**
 * The inline part of Markdown: emphasis, code, links. Every character is looked at a bounded number of times, whatever
 * the text, and what is no Markdown stays as it is: nothing of a text is lost.
 */
export function inline(text: string): ComponentChild[] {
  return new Inline(text).read();
}

/** Deeper than anybody writes. It bounds the work, and how deep elements nest. */
const openMax = 16;
const addressUnitsMax = 2_000;
const word = /[\p{L}\p{N}_]/u;
const punctuation = /[!-/:-@[-`{-~]/;

/** Something that may yet be closed: `**` or `[`, and what came since. */
type Open = { mark: string; children: ComponentChild[] };

const tags: Record<string, string> = { '**': 'strong', __: 'strong', '*': 'em', _: 'em', '~~': 's' };

class Inline {
  readonly text: string;
  at = 0;
  readonly #root: Open = { mark: '', children: [] };
  readonly #open: Open[] = [this.#root];
  /** Where the next one is, for each thing looked for; it only moves on. */
  readonly #next = new Map<string, number>();

  constructor(text: string) {
    this.text = text;
  }

  read(): ComponentChild[] {
    const { text } = this;
    while (this.at < text.length) {
      const start = this.at;
      const one = text[start] as string;
      const known = this.#step(one);
      if (!known) this.#plain(this.#run(start));
    }
    while (this.#open.length > 1) this.#giveUp();
    return this.#root.children;
  }

  /** Takes what begins here, if it is Markdown. */
  #step(one: string): boolean {
    switch (one) {
      case '\\':
        return this.#escape();
      case '\n':
        this.#top.children.push(h('br', null));
        this.at += 1;
        return true;
      case '`':
        return this.#code();
      case '*':
      case '_':
      case '~':
        return this.#emphasis(one);
      case '!':
      case '[':
        return this.#openLink(one);
      case ']':
        return this.#closeLink();
      case '<':
        return this.#angle();
      case 'h':
        return this.#bare();
      default:
        return false;
    }
  }

  get #top(): Open {
    return this.#open[this.#open.length - 1] as Open;
  }

  /** From here to the next character that may mean something. */
  #run(start: number): string {
    const { text } = this;
    let end = start + 1;
    // A word is taken whole, so that an address is only seen where one begins.
    while (end < text.length && !'\\\n`*_~![]<'.includes(text[end] as string)) {
      if (text[end] === 'h' && !word.test(text[end - 1] as string)) break;
      end += 1;
    }
    this.at = end;
    return text.slice(start, end);
  }

  #plain(text: string): void {
    const { children } = this.#top;
    const last = children.length - 1;
    if (typeof children[last] === 'string') children[last] += text;
    else children.push(text);
  }

  #escape(): boolean {
    const next = this.text[this.at + 1];
    if (next === undefined || !punctuation.test(next)) return false;
    this.#plain(next);
    this.at += 2;
    return true;
  }

  #length(one: string): number {
    let end = this.at;
    while (this.text[end] === one) end += 1;
    return end - this.at;
  }

  #find(what: string, from: number): number {
    const known = this.#next.get(what);
    if (known === -1 || (known !== undefined && known >= from)) return known;
    const found = this.text.indexOf(what, from);
    this.#next.set(what, found);
    return found;
  }

  /** Where a run of exactly so many backticks begins; runs are found once. */
  #ticks: Map<number, number[]> | undefined;
  #closing(length: number, from: number): number {
    if (this.#ticks === undefined) {
      this.#ticks = new Map();
      for (const { 0: run, index } of this.text.matchAll(/`+/g)) {
        const known = this.#ticks.get(run.length);
        if (known === undefined) this.#ticks.set(run.length, [index]);
        else known.push(index);
      }
      for (const places of this.#ticks.values()) places.reverse();
    }
    const places = this.#ticks.get(length) ?? [];
    while (places.length > 0 && (places.at(-1) as number) < from) places.pop();
    return places.at(-1) ?? -1;
  }

  #code(): boolean {
    const length = this.#length('`');
    const from = this.at + length;
    const end = this.#closing(length, from);
    if (end < 0) {
      this.#plain('`'.repeat(length));
      this.at = from;
      return true;
    }
    const inside = this.text.slice(from, end).replaceAll('\n', ' ');
    const padded = inside.startsWith(' ') && inside.endsWith(' ') && inside.trim() !== '';
    this.#top.children.push(h('code', null, padded ? inside.slice(1, -1) : inside));
    this.at = end + length;
    return true;
  }

  #emphasis(one: string): boolean {
    const length = this.#length(one);
    const before = this.text[this.at - 1] ?? ' ';
    const after = this.text[this.at + length] ?? ' ';
    // Longer runs are ornament, not emphasis.
    if (length > 3 || (one === '~' && length !== 2)) {
      this.#plain(one.repeat(length));
      this.at += length;
      return true;
    }
    let left = length;
    const inWord = one === '_' && word.test(before) && word.test(after);
    const canClose = !inWord && before.trim() !== '' && (one !== '_' || !word.test(after));
    const canOpen = !inWord && after.trim() !== '' && (one !== '_' || !word.test(before));
    if (canClose) while (left > 0 && this.#close(one, left)) left -= this.#closed;
    for (const size of canOpen ? (left === 3 ? [2, 1] : [left]) : []) {
      const mark = one.repeat(size);
      if (tags[mark] === undefined || this.#open.length >= openMax) continue;
      this.#open.push({ mark, children: [] });
      left -= size;
    }
    if (left > 0) this.#plain(one.repeat(left));
    this.at += length;
    return true;
  }

  #closed = 0;
  #close(one: string, left: number): boolean {
    const exact = this.#open.findLastIndex(({ mark }) => mark === one.repeat(left));
    const i = exact > 0 ? exact : this.#open.findLastIndex(({ mark }) => mark[0] === one && mark.length <= left);
    if (i < 1) return false;
    while (this.#open.length - 1 > i) this.#giveUp();
    const { mark, children } = this.#open.pop() as Open;
    this.#top.children.push(h(tags[mark] as string, null, children));
    this.#closed = mark.length;
    return true;
  }

  /** What was not closed is text. */
  #giveUp(): void {
    const { mark, children } = this.#open.pop() as Open;
    this.#plain(mark);
    for (const child of children) {
      if (typeof child === 'string') this.#plain(child);
      else this.#top.children.push(child);
    }
  }

  #openLink(one: string): boolean {
    if (one === '!' && this.text[this.at + 1] !== '[') return false;
    if (this.#open.length >= openMax) return false;
    const mark = one === '!' ? '![' : '[';
    this.#open.push({ mark, children: [] });
    this.at += mark.length;
    return true;
  }

  #closeLink(): boolean {
    const i = this.#open.findLastIndex(({ mark }) => mark === '[' || mark === '![');
    if (i < 0) return false;
    const address = this.text[this.at + 1] === '(' ? this.#address(this.at + 2) : undefined;
    while (this.#open.length - 1 > i) this.#giveUp();
    if (address === undefined) {
      this.#giveUp();
      return false;
    }
    const { mark, children } = this.#open.pop() as Open;
    this.#top.children.push(link(address.href, children, mark === '![', this.text.slice(this.at + 2, address.end - 1)));
    this.at = address.end;
    return true;
  }

  /** `https://… "title")`: the address, and where it all ends. */
  #address(from: number): { href: string; end: number } | undefined {
    let end = this.#find(')', from);
    if (end < 0 || end - from > addressUnitsMax) return undefined;
    // Addresses with a pair of brackets in them are common.
    if (this.text.slice(from, end).includes('(')) {
      const more = this.text.slice(end + 1, from + addressUnitsMax).search(/[)\n]/);
      if (this.text[end + 1 + more] === ')') end += 1 + more;
    }
    const [href = ''] = this.text.slice(from, end).trim().split(/\s/, 1);
    return { href: href.replace(/^<|>$/g, ''), end: end + 1 };
  }

  /** `<https://…>` and `<someone@example.com>`. */
  #angle(): boolean {
    const end = this.#find('>', this.at);
    const another = this.#find('<', this.at + 1);
    if (end < 0 || end - this.at > addressUnitsMax || (another > 0 && another < end)) return false;
    const inside = this.text.slice(this.at + 1, end);
    const href = /^[^\s<>@:]+@[^\s<>@]+$/.test(inside) ? `mailto:${inside}` : inside;
    if (/\s/.test(inside) || safeAddress(href) === undefined) return false;
    this.#top.children.push(link(href, [inside], false, inside));
    this.at = end + 1;
    return true;
  }

  #bare(): boolean {
    const { text, at } = this;
    if (!text.startsWith('http://', at) && !text.startsWith('https://', at)) return false;
    // Inside of a link it is that link's text.
    if (this.#open.some(({ mark }) => mark === '[' || mark === '![')) return false;
    let end = at;
    while (end < text.length && end - at < addressUnitsMax && !/[\s<>"`*[\]|]/.test(text[end] as string)) end += 1;
    while (end > at && '.,;:!?\'")_~'.includes(text[end - 1] as string)) end -= 1;
    const href = text.slice(at, end);
    // What looks like an address and is none is text as a whole: nothing in it is looked at again.
    if (safeAddress(href) === undefined) this.#plain(href);
    else this.#top.children.push(link(href, [href], false, href));
    this.at = end;
    return true;
  }
}

/** The address, where following it runs nothing: of the web or of mail. */
export function safeAddress(href: string): string | undefined {
  const url = URL.parse(href);
  return url !== null && ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : undefined;
}

/** Pictures are not loaded, since that would tell their owner who looks at this: they are links. */
export function link(href: string, children: ComponentChild[], isImage: boolean, written: string): ComponentChild {
  const address = safeAddress(href);
  if (address === undefined) return h('span', { title: written }, children, written !== '' && ` (${written})`);
  const attributes = { href: address, target: '_blank', rel: 'noopener noreferrer nofollow' };
  if (!isImage) return h('a', attributes, children);
  return h('a', { ...attributes, class: 'picture' }, 'Picture: ', children.length > 0 ? children : address);
}
