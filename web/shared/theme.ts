import { h, useState } from './dom.ts';
import { Select } from './select.ts';
import { applyTheme, storedTheme, storeTheme, themes } from './settings.ts';

export function ThemeChoice({ isLabelled = false }) {
  const [theme, setTheme] = useState(storedTheme);
  const choose = (chosen: string) => {
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
