import { type ComponentChildren, h } from '../shared/dom.ts';

/** A sentence of the document: what stands between backticks is code. */
export function prose(text: string): ComponentChildren {
  return text.split('`').map((part, at) => (at % 2 === 1 ? h('code', null, part) : part));
}

/** A path, breakable behind its slashes; its parameters stand out. */
export function pathText(path: string): ComponentChildren {
  return path
    .split(/(?<=\/)|(\{\w+\})/)
    .filter((part) => part)
    .map((part) => (part?.startsWith('{') ? h('em', null, part) : [part, h('wbr', null)]));
}
