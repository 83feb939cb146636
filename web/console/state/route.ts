import { createContext } from 'preact';
import { useContext, useLayoutEffect, useState } from 'preact/hooks';
import { type AdminOperation, allows } from '../../../server/src/contract/people/roles.ts';
import { type FilterChange, placeOf, type Route, readFilters, readRoute, withFilters } from './address.ts';
import { mayLeave } from './drafts.ts';
import type { ConsoleSession } from './types.ts';

export { type FilterChange, type Filters, hrefOf, hrefWith, type Route, readFilters, readRoute } from './address.ts';

/** Input of a view: the rest of the route behind its name, and the session. */
export type ViewProps = { rest: Route; session: ConsoleSession };

/** The address that is shown. It differs from the browser's while the user decides about text that is not saved. */
let shownHash = location.hash;
const followers = new Set<(hash: string) => void>();

function show(hash: string): void {
  shownHash = hash;
  for (const follow of followers) follow(hash);
}

addEventListener('hashchange', ({ oldURL }) => {
  // Another filter is no other place: text that is not saved stays.
  if (placeOf(location.hash) === placeOf(shownHash) || mayLeave()) show(location.hash);
  else history.pushState(null, '', oldURL);
});

function useHash(): string {
  const [hash, setHash] = useState(shownHash);
  // Before the page is visible, so that no early click on a link is missed.
  useLayoutEffect(() => {
    setHash(shownHash);
    followers.add(setHash);
    return () => void followers.delete(setHash);
  }, []);
  return hash;
}

export function useRoute(): Route {
  return readRoute(useHash());
}

/** `replace` adds no entry to the history, as for each letter of a search. */
function setFilters(change: FilterChange, how: 'push' | 'replace' = 'push'): void {
  // The browser's address: the event of a click on a link may still be pending. It may lead to another place.
  const { hash } = location;
  const changed = withFilters(hash, change);
  if (changed === hash || placeOf(hash) !== placeOf(shownHash)) return;
  history[`${how}State`](null, '', changed);
  show(changed);
}

export type FilterAccess = ReturnType<typeof useFilters>;

/** The filters in the address. Other filters stay when one is changed. `hrefOfFilters`: the address after a change, for links. */
export function useFilters() {
  const hash = useHash();
  return { filters: readFilters(hash), setFilters, hrefOfFilters: (change: FilterChange) => withFilters(hash, change) };
}

export const noSession: ConsoleSession = {
  key_id: null,
  person_id: null,
  name: '',
  expires_at: 0,
  read_only: false,
  role: 'viewer',
};
export const SessionContext = createContext(noSession);

/** Whether the role of the session allows an operation: else no view offers it. */
export const useMayRead = (operation: AdminOperation): boolean => allows(useContext(SessionContext).role, operation);

/** The same for an operation that writes. */
export function useMayWrite(operation: AdminOperation): boolean {
  const isAllowed = useMayRead(operation);
  return !useContext(SessionContext).read_only && isAllowed;
}
