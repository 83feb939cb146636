import { CopyButton } from '../../shared/copy-button.ts';
import { el, h } from '../../shared/dom.ts';

/** A text to copy, under its label. */
export const Copyable = ({ label, text, action = 'Copy' }: { label: string; text: string; action?: string }) =>
  el(
    'div.stack',
    el('div.row', el('span.soft', label), h(CopyButton, { text, label: action })),
    // Focusable, so that it can be scrolled by keyboard.
    h('pre', { class: 'as-written boxed', tabIndex: 0, role: 'region', 'aria-label': label }, el('code', text)),
  );
