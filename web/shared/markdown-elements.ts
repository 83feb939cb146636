import type { MarkedToken, Token, Tokens } from 'marked';
import { type ComponentChild, el, h } from './dom.ts';

/** What the parser does not know by itself. */
export type FormulaToken = { type: 'formula'; raw: string; text: string };

/** What each page draws in its own way; `inner` are the elements in it. */
export type Look = {
  heading: (token: Tokens.Heading, inner: ComponentChild[]) => ComponentChild;
  code: (token: Tokens.Code) => ComponentChild;
  link: (token: Tokens.Link | Tokens.Image, inner: ComponentChild[]) => ComponentChild;
  /** HTML and definitions of links, as they were written. */
  markup: (raw: string, isInline: boolean) => ComponentChild;
};

/** Markdown as elements, never as markup. */
export const elementsOf = (tokens: readonly Token[], look: Look): ComponentChild[] =>
  tokens.map((token) => elementOf(token as MarkedToken | FormulaToken, look));

function elementOf(token: MarkedToken | FormulaToken, look: Look): ComponentChild {
  const inner = (tokens: readonly Token[]) => elementsOf(tokens, look);
  switch (token.type) {
    case 'space':
      return null;
    case 'heading':
      return look.heading(token, inner(token.tokens));
    case 'paragraph':
      return el('p', inner(token.tokens));
    case 'blockquote':
    case 'strong':
    case 'em':
    case 'del':
      return h(token.type === 'del' ? 's' : token.type, null, inner(token.tokens));
    case 'list': {
      const start = token.start === '' ? undefined : token.start;
      return h(token.ordered ? 'ol' : 'ul', { start }, inner(token.items));
    }
    case 'list_item':
      return h('li', { class: token.task ? 'task' : undefined }, inner(token.tokens));
    case 'checkbox':
      return h('input', { type: 'checkbox', disabled: true, checked: token.checked, 'aria-label': 'Done' });
    case 'code':
      return look.code(token);
    case 'table':
      return table(token, look);
    case 'html':
    case 'def':
      return look.markup(token.raw, token.type === 'html' && !token.block);
    case 'codespan':
    case 'formula':
      return h('code', { class: token.type === 'formula' ? 'formula' : undefined }, token.text);
    case 'hr':
    case 'br':
      return h(token.type, null);
    case 'link':
    case 'image':
      return look.link(token, inner(token.tokens));
    case 'escape':
      return token.text;
    case 'text':
      return token.tokens === undefined ? token.text : el('span', inner(token.tokens));
  }
}

function table({ header, rows }: Tokens.Table, look: Look): ComponentChild {
  const cell = ({ header, align, tokens }: Tokens.TableCell) =>
    h(header ? 'th' : 'td', { class: align === null ? undefined : `align-${align}` }, elementsOf(tokens, look));
  const row = (cells: readonly Tokens.TableCell[]) => el('tr', cells.map(cell));
  return h('div', { class: 'scroll-x', tabIndex: 0, role: 'group', 'aria-label': 'Table' }, [
    el('table', el('thead', row(header)), el('tbody', rows.map(row))),
  ]);
}
