import type { MarkedToken, Token, Tokens } from 'marked';
import { type ComponentChild, el, h } from '../../shared/dom.ts';
import { type FormulaToken, tokensOf } from './markdown-lexer.ts';

/**
 * Markdown as elements, never as markup: HTML in it is shown as text, and so is every definition of a link, so that no
 * message hides anything. The text is right-to-left where its first letter is; code never is.
 */
export function Markdown({ text }: { text: string }) {
  return h('div', { class: 'markdown stack', dir: 'auto' }, elementsOf(tokensOf(text)));
}

const elementsOf = (tokens: readonly Token[]): ComponentChild[] =>
  tokens.map((token) => elementOf(token as MarkedToken | FormulaToken));

function elementOf(token: MarkedToken | FormulaToken): ComponentChild {
  switch (token.type) {
    case 'space':
      return null;
    case 'heading':
      return heading(token);
    case 'paragraph':
      return el('p', elementsOf(token.tokens));
    case 'blockquote':
      return el('blockquote', elementsOf(token.tokens));
    case 'list':
      return list(token);
    case 'list_item':
      return h('li', { class: token.task ? 'task' : undefined }, elementsOf(token.tokens));
    case 'checkbox':
      return h('input', { type: 'checkbox', disabled: true, checked: token.checked, 'aria-label': 'Done' });
    case 'code':
      return codeBlock(token);
    case 'table':
      return table(token);
    case 'hr':
      return el('hr');
    case 'html':
    case 'def':
      return token.type === 'html' && !token.block ? token.raw : el('p.as-written', token.raw.trim());
    case 'strong':
    case 'em':
      return h(token.type, null, elementsOf(token.tokens));
    case 'del':
      return el('s', elementsOf(token.tokens));
    case 'codespan':
      return el('code', token.text);
    case 'formula':
      return el('code.formula', token.text);
    case 'br':
      return el('br');
    case 'link':
      return link(token);
    case 'image':
      return link(token, 'Picture: ');
    case 'escape':
      return token.text;
    case 'text':
      return token.tokens === undefined ? token.text : el('span', elementsOf(token.tokens));
  }
}

/** The page has its own first two levels; those of a message begin below them. */
function heading({ depth, tokens }: Tokens.Heading): ComponentChild {
  return h(`h${Math.min(depth + 2, 6)}`, { class: `level-${depth}` }, elementsOf(tokens));
}

function list({ ordered, start, items }: Tokens.List): ComponentChild {
  return h(ordered ? 'ol' : 'ul', { start: start === '' ? undefined : start }, elementsOf(items));
}

function codeBlock({ text, lang }: Tokens.Code): ComponentChild {
  const label = lang ? `Code: ${lang}` : 'Code';
  return h('pre', { dir: 'ltr', tabIndex: 0, role: 'group', 'aria-label': label }, el('code', text));
}

function table({ header, rows }: Tokens.Table): ComponentChild {
  const row = (cells: readonly Tokens.TableCell[]) =>
    el(
      'tr',
      cells.map(({ header, align, tokens }) =>
        h(header ? 'th' : 'td', { class: align === null ? undefined : `align-${align}` }, elementsOf(tokens)),
      ),
    );
  return h(
    'div',
    { class: 'scroll-x', tabIndex: 0, role: 'group', 'aria-label': 'Table' },
    el('table', el('thead', row(header)), el('tbody', rows.map(row))),
  );
}

/** The address, if following it runs no script: only web and mail. */
export function safeAddress(href: string): string | undefined {
  const url = URL.parse(href);
  return url !== null && ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : undefined;
}

/** Pictures are links: loading one would tell its owner who reads this conversation. An address that is not safe is text. */
function link({ href, title, tokens, raw }: Tokens.Link | Tokens.Image, label = ''): ComponentChild {
  const address = safeAddress(href);
  if (address === undefined) return raw;
  const attributes = { href: address, title, target: '_blank', rel: 'noopener noreferrer nofollow' };
  if (label === '') return h('a', attributes, elementsOf(tokens));
  return h('a', { ...attributes, class: 'picture' }, label, tokens.length > 0 ? elementsOf(tokens) : address);
}
