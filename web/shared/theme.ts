import { h, useEffect, useState } from './dom.ts';
import { Select } from './select.ts';
import { readStored, store } from './stored.ts';

const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];
const place = 'backscroll-theme';

const themeOf = (text: string | null | undefined): Theme => themes.find((theme) => theme === text) ?? 'system';
const storedTheme = (): Theme => themeOf(readStored(place));

export function applyTheme(theme: Theme = storedTheme()): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Whether the page is dark, for choices that a style sheet cannot make. */
export function useIsDark(): boolean {
  const [isDark, setDark] = useState(readIsDark);
  useEffect(() => {
    const follow = () => setDark(readIsDark());
    const watch = new MutationObserver(follow);
    watch.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    systemIsDark.addEventListener('change', follow);
    return () => {
      watch.disconnect();
      systemIsDark.removeEventListener('change', follow);
    };
  }, []);
  return isDark;
}

const systemIsDark = matchMedia('(prefers-color-scheme: dark)');
const readIsDark = (): boolean => {
  const { theme } = document.documentElement.dataset;
  return theme === undefined ? systemIsDark.matches : theme === 'dark';
};

export function ThemeChoice() {
  const [theme, setTheme] = useState(storedTheme);
  const choose = (value: string) => {
    const chosen = themeOf(value);
    applyTheme(chosen);
    setTheme(chosen);
    store(place, chosen);
  };
  return h(Select, {
    class: 'theme-choice',
    label: h('span', { class: 'hidden-label' }, 'Theme'),
    value: theme,
    options: themes.map((one) => [one, `${one[0]?.toUpperCase()}${one.slice(1)}`] as const),
    change: choose,
  });
}
