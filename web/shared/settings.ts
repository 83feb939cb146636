/* Settings that stay in the browser. It may deny storage: they then last until the page is closed. */

/** A stored setting: null if there is none, undefined if the browser denies storage. */
export function readSetting(name: string): string | null | undefined {
  try {
    return localStorage.getItem(name);
  } catch {
    return undefined;
  }
}

export function storeSetting(name: string, text: string | null): void {
  try {
    if (text === null) localStorage.removeItem(name);
    else localStorage.setItem(name, text);
  } catch {}
}

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];
const themeName = 'backscroll-theme';

export const themeOf = (text: string | null | undefined): Theme => themes.find((theme) => theme === text) ?? 'system';
export const storedTheme = (): Theme => themeOf(readSetting(themeName));
export const storeTheme = (theme: Theme): void => storeSetting(themeName, theme);

export function applyTheme(theme = storedTheme()): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
