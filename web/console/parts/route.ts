import { useLayoutEffect, useState } from '../../shared/dom.ts';
import { mayLeave } from './drafts.ts';
import type { ConsoleSession } from './types.ts';

/** Where one is: the parts behind `#/`. It is in the address, so that places can be kept, sent and gone back to. */
export type Route = readonly string[];

/** What a view gets: the rest of the route behind its name, and who looks. */
export type ViewProps = { rest: Route; session: ConsoleSession };

export function readRoute(hash = location.hash): Route {
  return hash
    .replace(/^#?\/?/, '')
    .split('/')
    .filter((part) => part !== '')
    .map(decode);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function hrefOf(...parts: string[]): string {
  return `#/${parts.map(encodeURIComponent).join('/')}`;
}

export function go(...parts: string[]): void {
  location.hash = hrefOf(...parts);
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => readRoute());
  // Before the page is seen: whoever is quick with a link is not missed.
  useLayoutEffect(() => {
    const follow = ({ oldURL }: HashChangeEvent) => {
      if (mayLeave()) setRoute(readRoute());
      else history.pushState(null, '', oldURL);
    };
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return route;
}
