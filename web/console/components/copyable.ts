import { CopyButton } from '../../shared/copy-button.ts';
import { h } from '../../shared/dom.ts';

/** A text to copy, under its label. */
export const Copyable = ({ label, text, action = 'Copy' }: { label: string; text: string; action?: string }) =>
  h(
    'div',
    { class: 'stack' },
    h('div', { class: 'row' }, h('span', { class: 'soft' }, label), h(CopyButton, { text, label: action })),
    // Focusable, so that it can be scrolled by keyboard.
    h('pre', { class: 'as-written boxed', tabIndex: 0, role: 'region', 'aria-label': label }, h('code', null, text)),
  );
