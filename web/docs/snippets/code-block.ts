import { CopyButton } from '../../shared/copy-button.ts';
import { type ComponentChildren, el, h } from '../../shared/dom.ts';
import { jsonText } from '../json-text.ts';

type Props = { label: string; text: string; isJson?: boolean; children?: ComponentChildren };

/** A text to read and copy. It is focusable, so that it can be scrolled by keyboard. */
export function CodeBlock({ label, text, isJson = false, children }: Props) {
  return el(
    'div.code',
    el('div.code-head.row', children ?? el('span.soft', label), h(CopyButton, { text })),
    h('pre', { class: 'strip', tabIndex: 0, role: 'region', 'aria-label': label }, isJson ? jsonText(text) : text),
  );
}
