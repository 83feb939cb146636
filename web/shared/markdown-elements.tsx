import type { MarkedToken, Token, Tokens } from 'marked';
import type { ComponentChild } from 'preact';

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
      return <p>{inner(token.tokens)}</p>;
    case 'blockquote':
    case 'strong':
    case 'em':
    case 'del': {
      const Tag = token.type === 'del' ? 's' : token.type;
      return <Tag>{inner(token.tokens)}</Tag>;
    }
    case 'list': {
      const items = inner(token.items);
      return token.ordered ? <ol start={token.start === '' ? undefined : token.start}>{items}</ol> : <ul>{items}</ul>;
    }
    case 'list_item':
      return <li class={token.task ? 'task' : undefined}>{inner(token.tokens)}</li>;
    case 'checkbox':
      return <input type="checkbox" disabled checked={token.checked} aria-label="Done" />;
    case 'code':
      return look.code(token);
    case 'table':
      return table(token, look);
    case 'html':
    case 'def':
      return look.markup(token.raw, token.type === 'html' && !token.block);
    case 'codespan':
    case 'formula':
      return <code class={token.type === 'formula' ? 'formula' : undefined}>{token.text}</code>;
    case 'hr':
    case 'br':
      return <token.type />;
    case 'link':
    case 'image':
      return look.link(token, inner(token.tokens));
    case 'escape':
      return token.text;
    case 'text':
      return token.tokens === undefined ? token.text : <span>{inner(token.tokens)}</span>;
  }
}

function table({ header, rows }: Tokens.Table, look: Look): ComponentChild {
  const cell = ({ header, align, tokens }: Tokens.TableCell) => {
    const Tag = header ? 'th' : 'td';
    return <Tag class={align === null ? undefined : `align-${align}`}>{elementsOf(tokens, look)}</Tag>;
  };
  const row = (cells: readonly Tokens.TableCell[]) => <tr>{cells.map(cell)}</tr>;
  return (
    <div class="scroll-x" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>{row(header)}</thead>
        <tbody>{rows.map(row)}</tbody>
      </table>
    </div>
  );
}
