import { type ComponentChildren, h } from '../shared/dom.ts';

/** A text of the document: parts between backticks are code. */
export function prose(text: string): ComponentChildren {
  return text.split('`').map((part, at) => (at % 2 === 1 ? h('code', null, part) : part));
}

/** A path that can wrap after each slash, with its parameters highlighted. */
export function pathText(path: string): ComponentChildren {
  return path
    .split(/(?<=\/)|(\{\w+\})/)
    .filter((part) => part)
    .map((part) => (part?.startsWith('{') ? h('em', null, part) : [part, h('wbr', null)]));
}
