import { useEffect } from '../../shared/dom.ts';

/** Sets the title of the page: what is shown, from the most specific name to the name of the view. */
export function useTitle(...names: (string | undefined)[]): void {
  const title = [...names.filter(Boolean), 'Backscroll'].join(' · ');
  useEffect(() => {
    document.title = title;
  }, [title]);
}
