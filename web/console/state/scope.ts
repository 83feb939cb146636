import { orElse } from '../../shared/or-else.ts';
import { readSetting, storeSetting } from '../../shared/stored.ts';
import type { FilterChange, Filters } from './address.ts';

/* The app and the period that several views share. They are in the address, and remembered for the links between the views. */

const place = 'backscroll-scope';
/** Set while the first steps are not done: then the menu has them. */
export const firstStepsPlace = 'backscroll-first-steps';
const names = ['app_id', 'days', 'from', 'to'] as const;

/** The views that show one app or all; those with a period as well. */
export const viewsWithApp: readonly string[] = ['overview', 'conversations', 'review', 'users'];
export const viewsWithPeriod: readonly string[] = ['overview', 'conversations'];

export function rememberScope(filters: Filters): void {
  storeSetting(place, JSON.stringify(Object.fromEntries(names.map((name) => [name, filters[name]]))));
}

/** The scope for a link to a view. */
export function rememberedScope(view: string): FilterChange {
  if (!viewsWithApp.includes(view)) return {};
  const { app_id, ...period }: FilterChange = orElse(() => JSON.parse(readSetting(place) ?? '{}'), {});
  return { app_id, ...(viewsWithPeriod.includes(view) && period) };
}
