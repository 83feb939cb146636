import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { loadPart } from '../shared/load-part.ts';
import { ErrorNote } from './components/ui.tsx';

/** Loaded components, by the function that loads them, so that they are shown at once the next time. */
const loaded = new Map<unknown, unknown>();

type Props<P> = { load: () => Promise<{ View: ComponentType<P> }>; props: P };

/** A component whose module is loaded when it is first shown. */
export function Lazy<P extends object>({ load, props }: Props<P>) {
  const [, redraw] = useState(0);
  const [hasFailed, setFailed] = useState(false);
  useEffect(() => {
    if (loaded.has(load)) return;
    loadPart(load).then(
      ({ View }) => {
        loaded.set(load, View);
        redraw((count) => count + 1);
      },
      () => setFailed(true),
    );
  }, [load]);
  const Component = loaded.get(load) as ComponentType<P> | undefined;
  if (Component !== undefined) return <Component {...props} />;
  if (!hasFailed) return null;
  // Browsers do not repeat a failed import.
  const error = new Error('This part of the console could not be loaded.');
  return <ErrorNote error={error} retry={() => location.reload()} label="Reload the page" />;
}
