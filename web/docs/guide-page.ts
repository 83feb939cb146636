import { Lexer, type MarkedToken, type Token, type Tokens } from 'marked';
import { type ComponentChild, el, h, useLayoutEffect, useMemo } from '../shared/dom.ts';
import { type GuideText, guideHref } from './guide-texts.ts';
import { CodeBlock } from './snippets/code-block.ts';

type Props = { guide: GuideText; guides: readonly GuideText[]; anchor: string };

/** A guide of the documentation, which is Markdown. */
export function GuidePage({ guide, guides, anchor }: Props) {
  const elements = useMemo(() => {
    const linkTo = (href: string) => addressOf(href, guide, guides);
    return elementsOf(new Lexer({ gfm: true }).lex(guide.text), linkTo);
  }, [guide, guides]);
  useLayoutEffect(() => {
    if (anchor !== '') document.getElementById(anchor)?.scrollIntoView();
  }, [anchor, guide]);
  return h('article', { class: 'guide stack', id: `guide-${guide.name}` }, elements);
}

type LinkTo = (href: string) => string | undefined;

/** The address of a link in a guide. Files of the repository have none here. */
function addressOf(href: string, guide: GuideText, guides: readonly GuideText[]): string | undefined {
  if (/^https?:/.test(href)) return href;
  const [, file = '', anchor = ''] = /^([^#]*)#?(.*)$/.exec(href) ?? [];
  const name = /([\w-]+)\.md$/.exec(file)?.[1];
  const target = file === '' ? guide : guides.find((one) => one.name === name);
  return target && guideHref(target.name, anchor);
}

/** As the host of the repository names the anchors of headings. */
const anchorOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const elementsOf = (tokens: readonly Token[] | undefined, linkTo: LinkTo): ComponentChild[] =>
  (tokens ?? []).map((token) => elementOf(token as MarkedToken, linkTo));

function elementOf(token: MarkedToken, linkTo: LinkTo): ComponentChild {
  const inner = () => ('tokens' in token ? elementsOf(token.tokens, linkTo) : []);
  switch (token.type) {
    case 'heading':
      return h(`h${token.depth}`, { id: anchorOf(token.text) }, inner());
    case 'paragraph':
      return el('p', inner());
    case 'blockquote':
      return el('blockquote', inner());
    case 'list':
      return h(token.ordered ? 'ol' : 'ul', null, elementsOf(token.items, linkTo));
    case 'list_item':
      return el('li', inner());
    case 'code':
      return h(CodeBlock, { label: 'Example', text: token.text });
    case 'table':
      return table(token, linkTo);
    case 'strong':
    case 'em':
      return h(token.type, null, inner());
    case 'codespan':
      return el('code', token.text);
    case 'link':
      return link(token, linkTo, inner());
    case 'text':
      return token.tokens === undefined ? token.text : inner();
    case 'escape':
      return token.text;
    case 'hr':
    case 'br':
      return h(token.type, null);
    default:
      // Comments and pictures: the page loads nothing.
      return null;
  }
}

function link({ href }: Tokens.Link, linkTo: LinkTo, inner: ComponentChild[]): ComponentChild {
  const address = linkTo(href);
  if (address === undefined) return inner;
  return h('a', address.startsWith('#') ? { href: address } : { href: address, rel: 'noopener noreferrer' }, inner);
}

function table({ header, rows }: Tokens.Table, linkTo: LinkTo): ComponentChild {
  const row = (cells: readonly Tokens.TableCell[], name: 'th' | 'td') =>
    el(
      'tr',
      cells.map(({ tokens }) => h(name, null, elementsOf(tokens, linkTo))),
    );
  return h(
    'div',
    { class: 'scroll-x', tabIndex: 0, role: 'group', 'aria-label': 'Table' },
    el(
      'table',
      el('thead', row(header, 'th')),
      el(
        'tbody',
        rows.map((cells) => row(cells, 'td')),
      ),
    ),
  );
}
