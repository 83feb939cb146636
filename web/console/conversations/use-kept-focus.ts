import { useLayoutEffect } from '../../shared/dom.ts';

/**
 * Keeps the focus in a box that is drawn anew: on what had it, where that was only moved; on the box, where it is drawn
 * no more, so that keys go on scrolling it.
 */
export function useKeptFocus(box: HTMLElement | null): void {
  const { activeElement } = document;
  const had = activeElement instanceof HTMLElement && box?.contains(activeElement) ? activeElement : undefined;
  useLayoutEffect(() => {
    if (had === undefined || document.activeElement !== document.body) return;
    (had.isConnected ? had : box)?.focus({ preventScroll: true });
  });
}
