import { useEffect, useState } from 'preact/hooks';

/** Whether a media query matches, for what a style sheet cannot decide. */
export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const follow = () => setMatches(media.matches);
    media.addEventListener('change', follow);
    return () => media.removeEventListener('change', follow);
  }, [query]);
  return matches;
}

/** Whether the page is dark: by the theme that the user chose, else by that of the system. */
export function useIsDark(): boolean {
  const isSystemDark = useMedia('(prefers-color-scheme: dark)');
  const { dataset } = document.documentElement;
  const [theme, setTheme] = useState(dataset.theme);
  useEffect(() => {
    const watch = new MutationObserver(() => setTheme(dataset.theme));
    watch.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => watch.disconnect();
  }, []);
  return theme === undefined ? isSystemDark : theme === 'dark';
}
