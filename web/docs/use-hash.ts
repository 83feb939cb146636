import { useEffect, useState } from '../shared/dom.ts';

/** The part of the address behind `#`, so that it can be bookmarked, shared and returned to. */
export function useHash(): string {
  const [hash, setHash] = useState(() => location.hash.slice(1));
  useEffect(() => {
    const follow = () => setHash(location.hash.slice(1));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return hash;
}
