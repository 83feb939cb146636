import type { Tokens } from 'marked';
import type { ComponentChild, ComponentChildren } from 'preact';
import { OutLink } from '../../shared/controls.tsx';
import { elementsOf, type Look } from '../../shared/markdown-elements.tsx';
import { tokensOf } from './markdown-lexer.ts';

/**
 * Markdown of a message: HTML in it is shown as text, and so is every definition of a link, so that no message hides
 * anything. The text is right-to-left where its first letter is; code never is.
 */
export function Markdown({ text }: { text: string }) {
  return (
    <div class="markdown stack" dir="auto">
      {elementsOf(tokensOf(text), look)}
    </div>
  );
}

/** Code, which can be scrolled by keyboard. */
export const Pre = ({ label, children }: { label: string; children?: ComponentChildren }) => (
  <pre dir="ltr" tabIndex={0} role="group" aria-label={label}>
    {children}
  </pre>
);

const look: Look = {
  // The page has its own first two levels; those of a message begin below them.
  heading: ({ depth }, inner) => {
    const Heading = `h${Math.min(depth + 2, 6) as 3 | 4 | 5 | 6}` as const;
    return <Heading class={`level-${depth}`}>{inner}</Heading>;
  },
  // A text may have thousands of these and of links: they are elements, not components.
  code: ({ text, lang }) => Pre({ label: lang ? `Code: ${lang}` : 'Code', children: <code>{text}</code> }),
  markup: (raw, isInline) => (isInline ? raw : <p class="as-written">{raw.trim()}</p>),
  link,
};

/** The address, if following it runs no script: only web and mail. */
export function safeAddress(href: string): string | undefined {
  const url = URL.parse(href);
  return url !== null && ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : undefined;
}

/** Pictures are links: loading one would tell its owner who reads this conversation. An address that is not safe is text. */
function link({ type, href, title, raw }: Tokens.Link | Tokens.Image, inner: ComponentChild[]): ComponentChild {
  const address = safeAddress(href);
  if (address === undefined) return raw;
  const attributes = { href: address, title: title ?? undefined };
  if (type === 'link') return OutLink({ ...attributes, children: inner });
  return OutLink({ ...attributes, class: 'badge', children: ['Picture: ', inner.length > 0 ? inner : address] });
}
