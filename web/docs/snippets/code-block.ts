import { CopyButton } from '../../shared/copy-button.ts';
import { type ComponentChildren, h } from '../../shared/dom.ts';
import { jsonText } from '../json-text.ts';

type Props = { label: string; text: string; isJson?: boolean; children?: ComponentChildren };

/** A text to read and copy. It is focusable, so that it can be scrolled by keyboard. */
export function CodeBlock({ label, text, isJson = false, children }: Props) {
  return h(
    'div',
    { class: 'code' },
    h('div', { class: 'code-head row' }, children ?? h('span', { class: 'soft' }, label), h(CopyButton, { text })),
    h('pre', { tabIndex: 0, role: 'region', 'aria-label': label }, isJson ? jsonText(text) : text),
  );
}
