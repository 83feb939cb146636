import { useState } from 'preact/hooks';
import { Select } from './controls.tsx';
import { readSetting, storeSetting } from './stored.ts';

export const themes = ['system', 'light', 'dark'];
const themeName = 'backscroll-theme';

function storedTheme(): string {
  const stored = readSetting(themeName);
  return themes.find((theme) => theme === stored) ?? 'system';
}

export function applyTheme(theme = storedTheme()): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function chooseTheme(theme: string): void {
  applyTheme(theme);
  storeSetting(themeName, theme);
}

export function ThemeChoice({ isLabelled = false }) {
  const [theme, setTheme] = useState(storedTheme);
  const choose = (chosen: string) => {
    chooseTheme(chosen);
    setTheme(chosen);
  };
  return (
    <Select
      class="setting"
      label={<span class={isLabelled ? undefined : 'hidden-label'}>Theme</span>}
      value={theme}
      options={themes.map((one) => [one, `${one[0]?.toUpperCase()}${one.slice(1)}`] as const)}
      change={choose}
    />
  );
}
