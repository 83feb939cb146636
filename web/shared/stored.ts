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
