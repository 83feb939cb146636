import { useState } from '../shared/dom.ts';

export const languages = ['curl', 'TypeScript', 'Python'] as const;
type Language = (typeof languages)[number];

export type Shared = ReturnType<typeof useShared>;

/** State of all operations: the chosen language, and keys by kind. Keys are only in memory. */
export function useShared() {
  const [language, choose] = useState<Language>('curl');
  const [keys, setKeys] = useState<Readonly<Record<string, string>>>({});
  const storeKey = (kind: string, key: string) => setKeys((stored) => ({ ...stored, [kind]: key }));
  return { language, choose, keys, storeKey };
}
