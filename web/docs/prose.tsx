import type { ComponentChildren } from 'preact';

/** A text of the document: parts between backticks are code. */
export function prose(text: string): ComponentChildren {
  return text.split('`').map((part, at) => (at % 2 === 1 ? <code>{part}</code> : part));
}

/** The text of elements, without that of components. */
export function textOf(part: ComponentChildren): string {
  if (Array.isArray(part)) return part.map(textOf).join('');
  if (typeof part !== 'object' || part === null || !('props' in part))
    return ['string', 'number'].includes(typeof part) ? `${part}` : '';
  return textOf(part.props.children);
}

/** A path that can wrap after each slash, with its parameters highlighted. */
export function pathText(path: string): ComponentChildren {
  return path
    .split(/(?<=\/)|(\{\w+\})/)
    .filter((part) => part)
    .map((part) => (part?.startsWith('{') ? <em>{part}</em> : [part, <wbr />]));
}
