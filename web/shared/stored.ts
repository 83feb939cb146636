import { orElse } from './or-else.ts';

/* Settings that stay in the browser. It may deny storage: they then last until the page is closed. */

/** A stored setting: null if there is none, undefined if the browser denies storage. */
export const readSetting = (name: string): string | null | undefined =>
  orElse(() => localStorage.getItem(name), undefined);

export const storeSetting = (name: string, text: string | null): void =>
  orElse(() => (text === null ? localStorage.removeItem(name) : localStorage.setItem(name, text)), undefined);
