import { useLayoutEffect, useState } from '../../shared/dom.ts';
import { mayLeave } from './drafts.ts';
import type { ConsoleSession } from './types.ts';

/** The parts behind `#/` in the address, so that every view can be bookmarked, shared and returned to. */
export type Route = readonly string[];

/** What a view gets: the rest of the route behind its name, and the session. */
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
  // Before the page is visible, so that no early click on a link is missed.
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
