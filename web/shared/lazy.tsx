import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Button } from './controls.tsx';
import { whenBack } from './when-back.ts';

/** Loaded components, by the function that loads them, so that they are shown at once the next time. */
const loaded = new Map<unknown, unknown>();

type Load<P> = () => Promise<{ View: ComponentType<P> }>;
type Props<P> = { load: Load<P>; props: P };

/** A component whose module is loaded when it is first shown. A failed load is repeated in place. */
export function Lazy<P extends object>({ load, props }: Props<P>) {
  const [{ attempt, hasFailed }, setState] = useState({ attempt: 0, hasFailed: false });
  const tryAgain = () => setState({ attempt: attempt + 1, hasFailed: true });
  useEffect(() => {
    if (loaded.has(load)) return undefined;
    let isShown = true;
    let cancel = () => {};
    loadPart(load, attempt).then(
      ({ View }) => {
        loaded.set(load, View);
        if (isShown) setState({ attempt, hasFailed: false });
      },
      () => {
        if (!isShown) return;
        setState({ attempt, hasFailed: true });
        cancel = whenBack(tryAgain);
      },
    );
    return () => {
      isShown = false;
      cancel();
    };
  }, [load, attempt]);
  const Component = loaded.get(load) as ComponentType<P> | undefined;
  if (Component !== undefined) return <Component {...props} />;
  if (!hasFailed) return null;
  return (
    <div class="note bad row" role="alert">
      <p>This part of the page could not be loaded. It is tried again every 5 seconds.</p>
      <Button onClick={tryAgain}>Try again</Button>
    </div>
  );
}

const place = 'backscroll-reloaded';

/**
 * After an upgrade of the service the file of a part is gone: then the page loads again, once for each version that it came from.
 * It stays as it is if the service serves the same version or cannot be reached.
 */
async function loadPart<P>(load: Load<P>, attempt: number): Promise<{ View: ComponentType<P> }> {
  try {
    return await (attempt === 0 ? load() : import(addressOf(load, attempt)));
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

/** A browser does not repeat a failed import of the same address, which is in the text of the function that imports. */
const addressOf = (load: () => unknown, attempt: number): string =>
  `${new URL(/import\("(.+?)"\)/.exec(`${load}`)?.[1] ?? '', import.meta.url)}?${attempt}`;
