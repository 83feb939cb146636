import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** What is cut off fades over this width. */
const fadePixels = 24;

/** For a line that scrolls: what is chosen in it is seen, at first and whenever that changes. Nothing else scrolls. */
export function useStrip<T extends HTMLElement>(chosen: string): RefObject<T | null> {
  const strip = useRef<T>(null);
  useLayoutEffect(() => {
    const [seen, place] = [strip.current, strip.current?.querySelector('[aria-current], [aria-sort]')].map((box) =>
      box?.getBoundingClientRect(),
    );
    if (strip.current === null || !seen || !place) return;
    strip.current.scrollLeft +=
      Math.max(0, place.right + fadePixels - seen.right) + Math.min(0, place.left - seen.left);
  }, [chosen]);
  return strip;
}
