import { type ComponentChildren, h, useErrorBoundary, useLayoutEffect, useRef } from '../shared/dom.ts';

/** Keeps a view that throws from taking the others with it: says what was thrown, until one tries again or goes elsewhere. */
export function ViewBoundary({ place, children }: { place: string; children?: ComponentChildren }) {
  // The whole of it is for whoever looks for the cause.
  const [error, reset] = useErrorBoundary((error: unknown) => console.error(error));
  const shown = useRef(place);
  useLayoutEffect(() => {
    if (shown.current !== place) reset();
    shown.current = place;
  }, [place]);
  if (error === undefined) return children;
  return h(
    'div',
    { class: 'note bad', role: 'alert' },
    h('p', null, 'This view cannot be shown: ', error instanceof Error ? error.message : String(error)),
    h('button', { type: 'button', onClick: reset }, 'Try again'),
  );
}
