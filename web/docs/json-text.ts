import { type ComponentChildren, h } from '../shared/dom.ts';

const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** Each colour is an element: longer responses have none. */
const colouredMax = 60_000;

/** JSON with coloured names and values, as text nodes only. */
export function jsonText(text: string): ComponentChildren {
  if (text.length > colouredMax) return text;
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const match of text.matchAll(token)) {
    const [whole, string, colon] = match;
    const shown = string ?? whole;
    parts.push(text.slice(at, match.index));
    parts.push(h('span', { class: string === undefined ? 'json-word' : colon ? 'json-name' : 'json-text' }, shown));
    at = match.index + shown.length;
  }
  return [...parts, text.slice(at)];
}
