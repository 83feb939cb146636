import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Button } from './controls.tsx';

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
  return (
    <div class="note bad row" role="alert">
      <p>This part of the page could not be loaded.</p>
      {/* Browsers do not repeat a failed import. */}
      <Button onClick={() => location.reload()}>Reload the page</Button>
    </div>
  );
}

const place = 'backscroll-reloaded';

/**
 * After an upgrade of the service the file of a part is gone: then the page loads again, once for each version that it came from.
 * It stays as it is if the service serves the same version or cannot be reached.
 */
async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const version = new URL(import.meta.url).pathname;
    const page = await fetch(location.pathname).then((response) => response.text());
    const reloaded = sessionStorage.getItem(place) ?? '';
    if (page.includes(version) || reloaded.includes(version)) throw error;
    sessionStorage.setItem(place, `${reloaded} ${version}`);
    location.reload();
    return new Promise(() => undefined);
  }
}
