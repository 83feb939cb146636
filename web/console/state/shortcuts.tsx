import { useEffect, useRef, useState } from 'preact/hooks';
import { Terms } from '../../shared/controls.tsx';
import { Dialog } from '../components/action-dialog.tsx';

type Shortcut = { key: string; text: string; action: () => void };

/** The shortcuts of the components on the page. */
const shortcuts = new Set<Shortcut>();

/**
 * Calls `action` when the user presses the key, but not in a dialog, and not while typing, except with Ctrl or Cmd (`Ctrl+K`).
 * `g o` is two keys, one after the other. `text` is for the list of shortcuts. Undefined: there is none now.
 */
export function useShortcut(key: string | undefined, text: string, action: () => void): void {
  const latest = useRef(action);
  latest.current = action;
  useEffect(() => {
    if (key === undefined) return undefined;
    const shortcut = { key, text, action: () => latest.current() };
    shortcuts.add(shortcut);
    return () => void shortcuts.delete(shortcut);
  }, [key, text]);
}

/** The first of two keys, with a space, until the next one. */
let prefix = '';

addEventListener('keydown', (event) => {
  if (event.altKey || event.isComposing || event.defaultPrevented || event.key === 'Shift') return;
  const isCommand = event.ctrlKey || event.metaKey;
  if ((isTyping(event.target) && !isCommand) || document.querySelector('dialog[open]') !== null) return;
  const pressed = isCommand ? `Ctrl+${event.key.toUpperCase()}` : `${prefix}${event.key}`;
  prefix = [...shortcuts].some(({ key }) => key.startsWith(`${pressed} `)) ? `${pressed} ` : '';
  // The newest one: a part of a view may replace a shortcut of the view.
  const shortcut = [...shortcuts].findLast(({ key }) => key === pressed);
  if (shortcut !== undefined) event.preventDefault();
  shortcut?.action();
});

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'button', 'submit'].includes(target.type);
  return target.isContentEditable || ['TEXTAREA', 'SELECT'].includes(target.tagName);
}

/** Rows in which the arrow keys move: from link to link, and from the search of the view to the first one. */
const rows = ':is(.data tbody tr, .conversation-list li, .newest li, .hits li)';
const firstLink = (row: Element | null | undefined) => row?.querySelector<HTMLElement>('a');

addEventListener('keydown', (event) => {
  const { target, key } = event;
  const step = key === 'ArrowDown' ? 'nextElementSibling' : key === 'ArrowUp' ? 'previousElementSibling' : undefined;
  if (step === undefined || !(target instanceof HTMLElement) || event.defaultPrevented) return;
  const isSearch = target.matches('.search-box input') && key === 'ArrowDown';
  const link = isSearch ? firstLink(document.querySelector(rows)) : firstLink(target.closest(rows)?.[step]);
  if (!link || (!isSearch && target.tagName !== 'A')) return;
  event.preventDefault();
  link.focus();
});

const press = (wanted: string) => [...shortcuts].find(({ key }) => key === wanted)?.action();
export const showShortcuts = () => press('?');
export const showFinder = () => press('Ctrl+K');

/** `?` lists the shortcuts of the page. */
export function ShortcutHelp() {
  const [isOpen, setOpen] = useState(false);
  useShortcut('?', 'Show these shortcuts', () => setOpen(true));
  if (!isOpen) return null;
  const close = () => setOpen(false);
  const texts = new Map([...shortcuts].map(({ key, text }) => [key, text]));
  if (document.querySelector(rows) !== null) texts.set('↑ ↓', 'Previous, next row');
  const keys = (key: string) => {
    const [first, ...others] = key.split(/[ +]/).map((one) => <kbd key={one}>{one}</kbd>);
    return [first, others.map((other) => [key.startsWith('g ') ? ' then ' : ' ', other])];
  };
  const groups = Map.groupBy(texts, ([key]) => groupOf(key));
  return (
    <Dialog title="Keyboard shortcuts" close={close}>
      <div class="shortcuts">
        {groupTitles
          .filter((title) => groups.has(title))
          .map((title) => (
            <section key={title}>
              <h3>{title}</h3>
              <Terms rows={(groups.get(title) ?? []).map(([key, text]) => [keys(key), text])} />
            </section>
          ))}
      </div>
    </Dialog>
  );
}

const groupTitles = ['Go to', 'In this view', 'Everywhere'] as const;
const groupOf = (key: string): (typeof groupTitles)[number] =>
  key.startsWith('g ') ? 'Go to' : ['?', 'Ctrl+K'].includes(key) ? 'Everywhere' : 'In this view';
