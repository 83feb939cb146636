import { h, useEffect, useState } from './dom.ts';

const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];
const place = 'backscroll-theme';

function storedTheme(): Theme {
  try {
    return themes.find((theme) => theme === localStorage.getItem(place)) ?? 'system';
  } catch {
    // The browser may deny storage; the system's setting applies then.
    return 'system';
  }
}

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
    const chosen = themes.find((one) => one === value) ?? 'system';
    applyTheme(chosen);
    setTheme(chosen);
    try {
      localStorage.setItem(place, chosen);
    } catch {
      // The choice then lasts until the page is closed.
    }
  };
  return h(
    'label',
    { class: 'theme-choice' },
    h('span', { class: 'hidden-label' }, 'Theme'),
    h(
      'select',
      { value: theme, onChange: (event: Event) => choose((event.target as HTMLSelectElement).value) },
      themes.map((one) => h('option', { value: one }, `${one[0]?.toUpperCase()}${one.slice(1)}`)),
    ),
  );
}
