import type { ComponentChildren } from 'preact';
import { useErrorBoundary, useLayoutEffect, useRef } from 'preact/hooks';
import { ErrorNote } from './components/ui.tsx';

/** Shows the error of a view that throws, until the user tries again or goes to another view. The other views still work. */
export function ViewBoundary({ place, children }: { place: string; children?: ComponentChildren }) {
  // With its stack, for debugging.
  const [error, reset] = useErrorBoundary((error: unknown) => console.error(error));
  const shownPlace = useRef(place);
  useLayoutEffect(() => {
    if (shownPlace.current !== place) reset();
    shownPlace.current = place;
  }, [place]);
  if (error === undefined) return children;
  const message = error instanceof Error ? error.message : String(error);
  return <ErrorNote error={new Error(`This view cannot be shown: ${message}`)} retry={reset} />;
}
