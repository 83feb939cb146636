import { h, useEffect, useState } from './dom.ts';
import { Select } from './select.ts';
import { applyTheme, storedTheme, storeTheme, themeOf, themes } from './settings.ts';

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

export function ThemeChoice({ isLabelled = false }) {
  const [theme, setTheme] = useState(storedTheme);
  const choose = (value: string) => {
    const chosen = themeOf(value);
    applyTheme(chosen);
    setTheme(chosen);
    storeTheme(chosen);
  };
  return h(Select, {
    class: 'theme-choice',
    label: h('span', { class: isLabelled ? undefined : 'hidden-label' }, 'Theme'),
    value: theme,
    options: themes.map((one) => [one, `${one[0]?.toUpperCase()}${one.slice(1)}`] as const),
    change: choose,
  });
}
