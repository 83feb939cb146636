import { useLayoutEffect } from 'preact/hooks';

/**
 * Keeps the focus in a box that is drawn again: on the element that had it, if that was only moved; on the box, if the
 * element was removed, so that keys still scroll it.
 */
export function useStableFocus(box: HTMLElement | null): void {
  const { activeElement } = document;
  const focused = activeElement instanceof HTMLElement && box?.contains(activeElement) ? activeElement : undefined;
  useLayoutEffect(() => {
    if (focused === undefined || document.activeElement !== document.body) return;
    (focused.isConnected ? focused : box)?.focus({ preventScroll: true });
  });
}
