import { Lexer } from 'marked';
import { useLayoutEffect, useMemo } from 'preact/hooks';
import { CodeBlock } from '../shared/code-block.tsx';
import { elementsOf, type Look } from '../shared/markdown-elements.tsx';
import { type GuideText, guideHref } from './guide-texts.ts';

export type GuideProps = { guide: GuideText; guides: readonly GuideText[]; anchor: string };

/** A guide of the documentation, which is Markdown. */
export function View({ guide, guides, anchor }: GuideProps) {
  const elements = useMemo(() => {
    const look: Look = {
      heading: ({ depth, text }, inner) => {
        const Heading = `h${depth as 1 | 2 | 3 | 4 | 5 | 6}` as const;
        return <Heading id={anchorOf(text)}>{inner}</Heading>;
      },
      code: ({ text }) => <CodeBlock label="Example" text={text} />,
      link: ({ type, href }, inner) => {
        const address = addressOf(href, guide, guides);
        // The page loads no pictures.
        if (type === 'image') return null;
        if (address === undefined) return inner;
        return (
          <a href={address} rel={address.startsWith('#') ? undefined : 'noopener noreferrer'}>
            {inner}
          </a>
        );
      },
      // Comments.
      markup: () => null,
    };
    return elementsOf(new Lexer({ gfm: true }).lex(guide.text), look);
  }, [guide, guides]);
  useLayoutEffect(() => {
    if (anchor !== '') document.getElementById(anchor)?.scrollIntoView();
  }, [anchor, guide]);
  return (
    <article class="guide stack" id={`guide-${guide.name}`}>
      {elements}
    </article>
  );
}

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
