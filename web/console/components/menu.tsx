import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Button, IconButton, type IconName } from '../../shared/controls.tsx';
import { ErrorNote } from './ui.tsx';

/** `isLate`: the content is not in the page, and requests nothing, until the menu is open. */
type Props = { class: string; label: string; icon: IconName; isLate?: boolean; children?: ComponentChildren };

/** What shows its result in the menu, which stays open. */
const stays = ':not([type="submit"], .icon-only)';

/** A button that shows and hides its content. Escape, a click elsewhere and a click on what it contains hide it. */
export function Menu({ class: name, label, icon, isLate = false, children }: Props) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    opener.current?.focus();
  };
  useEffect(() => {
    if (!isOpen) return undefined;
    const closeOutside = ({ target }: Event) => box.current?.contains(target as Node) || setOpen(false);
    const closeOnEscape = ({ key }: KeyboardEvent) => key === 'Escape' && close();
    const open = new AbortController();
    const { signal } = open;
    for (const type of ['pointerdown', 'focusin']) addEventListener(type, closeOutside, { signal });
    addEventListener('keydown', closeOnEscape, { signal });
    return () => open.abort();
  }, [isOpen]);
  const closeAtAction = ({ target }: Event) =>
    target instanceof Element && target.closest(`a, button${stays}`) && close();
  return (
    <div class={`menu ${name}`} ref={box}>
      <IconButton
        ref={opener}
        icon={icon}
        label={label}
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      />
      {/* biome-ignore lint/a11y: it hears of the clicks on links and buttons in it, also by key */}
      <div id={id} class={isOpen ? 'card menu-content open' : 'card menu-content'} onClick={closeAtAction}>
        {(isOpen || !isLate) && children}
      </div>
    </div>
  );
}

type Entry = readonly [label: string, act: () => void];
type ActionsProps = { of: string; isBusy: boolean; error: Error | undefined; entries: readonly (Entry | false)[] };

/** What can be done with a record, which the names of the entries name. */
export const ActionsMenu = ({ of, isBusy, error, entries }: ActionsProps) => (
  <>
    <Menu class="actions-menu" label={`Actions of ${of}`} icon="more">
      {entries.map(
        (entry) =>
          entry && (
            <Button class="quiet entry" aria-label={`${entry[0]}: ${of}`} disabled={isBusy} onClick={entry[1]}>
              {entry[0]}
            </Button>
          ),
      )}
    </Menu>
    <ErrorNote error={error} />
  </>
);
