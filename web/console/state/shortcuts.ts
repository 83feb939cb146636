import { h, useEffect, useRef, useState } from '../../shared/dom.ts';
import { Dialog } from '../components/ui.ts';

type Shortcut = { key: string; text: string; action: () => void };

/** The shortcuts of the components on the page. */
const shortcuts = new Set<Shortcut>();

/** Calls `action` when the user presses the key, but not while typing or in a dialog. `text` is for the list of shortcuts. */
export function useShortcut(key: string, text: string, action: () => void): void {
  const latest = useRef(action);
  latest.current = action;
  useEffect(() => {
    const shortcut = { key, text, action: () => latest.current() };
    shortcuts.add(shortcut);
    return () => void shortcuts.delete(shortcut);
  }, [key, text]);
}

addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
  if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
  // The newest one: a part of a view may replace a shortcut of the view.
  const shortcut = [...shortcuts].findLast(({ key }) => key === event.key);
  if (shortcut === undefined) return;
  event.preventDefault();
  shortcut.action();
});

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'button', 'submit'].includes(target.type);
  return target.isContentEditable || ['TEXTAREA', 'SELECT'].includes(target.tagName);
}

export const showShortcuts = () => [...shortcuts].find(({ key }) => key === '?')?.action();

/** `?` lists the shortcuts of the page. */
export function ShortcutHelp() {
  const [isOpen, setOpen] = useState(false);
  useShortcut('?', 'Show these shortcuts', () => setOpen(true));
  if (!isOpen) return null;
  const close = () => setOpen(false);
  const texts = new Map([...shortcuts].map(({ key, text }) => [key, text]));
  return h(
    Dialog,
    { title: 'Keyboard shortcuts', close },
    h(
      'dl',
      { class: 'shortcuts values' },
      [...texts].toSorted().map(([key, text]) => [h('dt', null, h('kbd', null, key)), h('dd', null, text)]),
    ),
    h('div', { class: 'row' }, h('button', { type: 'button', autoFocus: true, onClick: close }, 'Close')),
  );
}
