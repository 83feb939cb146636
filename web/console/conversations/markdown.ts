import { type ComponentChild, h } from '../../shared/dom.ts';
import { inline } from './markdown-inline.ts';

/**
 * Markdown as elements, never as markup: HTML in it is shown as text. Small on purpose: headings, paragraphs, lists,
 * quotes, code, tables, rules, and what `inline` knows. The work grows with the length of the text, whatever is in it.
 * It runs from the right where its first letter does; code never does.
 */
export function Markdown({ text }: { text: string }) {
  return h('div', { class: 'markdown', dir: 'auto' }, blocks(text.replaceAll(/\r\n?/g, '\n').split('\n'), 0));
}

/** Deeper lists and quotes than these are text. */
const depthMax = 10;

type Taken = { node: ComponentChild; next: number };
type Reader = (lines: readonly string[], at: number, depth: number) => Taken | undefined;

const readers: readonly Reader[] = [fence, heading, rule, quote, list, table];

function blocks(lines: readonly string[], depth: number): ComponentChild[] {
  const nodes: ComponentChild[] = [];
  let at = 0;
  while (at < lines.length) {
    if (isBlank(lines[at])) {
      at += 1;
      continue;
    }
    const { node, next } = begin(lines, at, depth) ?? paragraph(lines, at, depth);
    nodes.push(node);
    at = next;
  }
  return nodes;
}

function begin(lines: readonly string[], at: number, depth: number): Taken | undefined {
  for (const reader of readers) {
    const taken = reader(lines, at, depth);
    if (taken !== undefined) return taken;
  }
  return undefined;
}

const isBlank = (line: string | undefined): boolean => line === undefined || line.trim() === '';
const indentOf = (line: string): number => line.length - line.trimStart().length;

function paragraph(lines: readonly string[], at: number, depth: number): Taken {
  let next = at + 1;
  while (next < lines.length && !isBlank(lines[next]) && !interrupts(lines, next, depth)) next += 1;
  return { node: h('p', null, inline(trimmed(lines.slice(at, next)))), next };
}

const trimmed = (lines: readonly string[]): string => lines.map((line) => line.trim()).join('\n');

/** Whether a line ends the paragraph before it. It asks little of each line. */
function interrupts(lines: readonly string[], at: number, depth: number): boolean {
  const line = lines[at] as string;
  return (
    fenceOf(line) !== undefined ||
    headingOf(line) !== undefined ||
    isRule(line) ||
    (depth < depthMax && (line.trimStart().startsWith('>') || itemOf(line) !== undefined)) ||
    isTable(lines, at)
  );
}

function fenceOf(line: string): { mark: string; info: string } | undefined {
  const text = line.trim();
  const mark = /^(?:`{3,}|~{3,})/.exec(text)?.[0];
  if (mark === undefined) return undefined;
  const info = text.slice(mark.length).trim();
  return info.includes('`') ? undefined : { mark, info };
}

function fence(lines: readonly string[], at: number): Taken | undefined {
  const opening = lines[at] as string;
  const found = fenceOf(opening);
  if (found === undefined) return undefined;
  const indent = indentOf(opening);
  let next = at + 1;
  const isEnd = (line: string) => {
    const end = fenceOf(line);
    return end !== undefined && end.info === '' && end.mark.startsWith(found.mark);
  };
  while (next < lines.length && !isEnd(lines[next] as string)) next += 1;
  const inside = lines.slice(at + 1, next).map((line) => line.slice(Math.min(indent, indentOf(line))));
  const label = found.info === '' ? 'Code' : `Code: ${found.info}`;
  const node = h(
    'pre',
    { dir: 'ltr', tabIndex: 0, role: 'group', 'aria-label': label },
    h('code', null, inside.join('\n')),
  );
  return { node, next: next + 1 };
}

function headingOf(line: string): { level: number; text: string } | undefined {
  const text = line.trim();
  const level = /^#{1,6}(?=\s)/.exec(text)?.[0].length;
  return level === undefined ? undefined : { level, text: text.slice(level).replace(/\s#+$/, '').trim() };
}

/** The page has its own first two levels; a message's begin below them. */
function heading(lines: readonly string[], at: number): Taken | undefined {
  const found = headingOf(lines[at] as string);
  if (found === undefined) return undefined;
  const level = Math.min(found.level + 2, 6);
  return { node: h(`h${level}`, { class: `level-${found.level}` }, inline(found.text)), next: at + 1 };
}

function isRule(line: string): boolean {
  const text = line.replaceAll(/\s/g, '');
  const one = text[0];
  return text.length >= 3 && (one === '-' || one === '*' || one === '_') && text === one.repeat(text.length);
}

function rule(lines: readonly string[], at: number): Taken | undefined {
  return isRule(lines[at] as string) ? { node: h('hr', null), next: at + 1 } : undefined;
}

function quote(lines: readonly string[], at: number, depth: number): Taken | undefined {
  const isQuoted = (line: string | undefined) => line?.trimStart().startsWith('>');
  if (depth >= depthMax || !isQuoted(lines[at])) return undefined;
  let next = at;
  while (isQuoted(lines[next])) next += 1;
  const inside = lines.slice(at, next).map((line) => line.trimStart().slice(1).replace(/^ /, ''));
  return { node: h('blockquote', null, blocks(inside, depth + 1)), next };
}

type Item = { ordered: boolean; start: number; indent: number; content: number };

function itemOf(line: string): Item | undefined {
  const indent = indentOf(line);
  const found = /^(?:([-*+])|(\d{1,9})[.)])(?: {1,4}|\t|$)/.exec(line.slice(indent, indent + 16));
  if (found === null) return undefined;
  const [mark, bullet, number = '1'] = found;
  return { ordered: bullet === undefined, start: Number(number), indent, content: indent + mark.length };
}

function list(lines: readonly string[], at: number, depth: number): Taken | undefined {
  const first = itemOf(lines[at] as string);
  if (first === undefined || depth >= depthMax) return undefined;
  const items: ComponentChild[] = [];
  let next = at;
  for (;;) {
    const item = next < lines.length ? itemOf(lines[next] as string) : undefined;
    if (item === undefined || item.ordered !== first.ordered || isRule(lines[next] as string)) break;
    const end = endOfItem(lines, next, item);
    const inside = [
      (lines[next] as string).slice(item.content),
      ...lines.slice(next + 1, end).map((line) => line.slice(Math.min(item.content, indentOf(line)))),
    ];
    items.push(h('li', null, tight(blocks(inside, depth + 1))));
    next = end;
  }
  if (next === at) return undefined;
  const node = first.ordered ? h('ol', { start: first.start }, items) : h('ul', null, items);
  return { node, next };
}

/** An item goes on while lines stand deeper than its mark, or are text that follows at once. */
function endOfItem(lines: readonly string[], at: number, item: Item): number {
  let next = at + 1;
  let end = next;
  for (; next < lines.length; next += 1) {
    const line = lines[next] as string;
    if (isBlank(line)) continue;
    const isDeeper = indentOf(line) > item.indent;
    const followsAtOnce = end === next && itemOf(line) === undefined && headingOf(line) === undefined;
    if (!isDeeper && (!followsAtOnce || fenceOf(line) !== undefined || isRule(line))) break;
    end = next + 1;
  }
  // The empty lines before the next item belong to nobody.
  const isList = next < lines.length && itemOf(lines[next] as string) !== undefined;
  return isList ? next : end;
}

/** One paragraph in an item needs no room of its own. */
function tight(nodes: ComponentChild[]): ComponentChild[] {
  return nodes.map((node) => {
    const isParagraph = typeof node === 'object' && node !== null && 'type' in node && node.type === 'p';
    return isParagraph && nodes.length <= 2 ? h('span', null, node.props.children) : node;
  });
}

const cellsOf = (line: string): string[] => {
  const text = line.trim();
  const inner = text.slice(text.startsWith('|') ? 1 : 0, text.endsWith('|') ? -1 : undefined);
  return inner.split(/(?<!\\)\|/).map((cell) => cell.replaceAll('\\|', '|').trim());
};

/** A row of names above a row of dashes. */
function isTable(lines: readonly string[], at: number): boolean {
  const head = lines[at] as string;
  const dashes = lines[at + 1];
  if (dashes === undefined || !head.includes('|') || !dashes.includes('-') || !/^[\s|:-]+$/.test(dashes)) return false;
  return cellsOf(head).length === cellsOf(dashes).length;
}

function table(lines: readonly string[], at: number): Taken | undefined {
  if (!isTable(lines, at)) return undefined;
  const names = cellsOf(lines[at] as string);
  const classes = cellsOf(lines[at + 1] as string).map((dashes) => (dashes.endsWith(':') ? 'number' : undefined));
  let next = at + 2;
  while (next < lines.length && !isBlank(lines[next]) && (lines[next] as string).includes('|')) next += 1;
  const rows = lines.slice(at + 2, next).map(cellsOf);
  const row = (cells: readonly string[], tag: string) =>
    h(
      'tr',
      null,
      cells.map((cell, i) => h(tag, { class: classes[i] }, inline(cell))),
    );
  const node = h(
    'div',
    { class: 'scroll-x', tabIndex: 0, role: 'group', 'aria-label': 'Table' },
    h(
      'table',
      null,
      h('thead', null, row(names, 'th')),
      h(
        'tbody',
        null,
        rows.map((cells) => row(cells, 'td')),
      ),
    ),
  );
  return { node, next };
}
