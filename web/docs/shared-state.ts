import { useState } from '../shared/dom.ts';

export const languages = ['curl', 'TypeScript', 'Python'] as const;
export type Language = (typeof languages)[number];

/** State of all operations: the chosen language, and keys by kind. Keys are only in memory. */
export type Shared = {
  language: Language;
  choose: (language: Language) => void;
  keys: Readonly<Record<string, string>>;
  keep: (kind: string, key: string) => void;
};

export function useShared(): Shared {
  const [language, choose] = useState<Language>('curl');
  const [keys, setKeys] = useState<Record<string, string>>({});
  return { language, choose, keys, keep: (kind, key) => setKeys((held) => ({ ...held, [kind]: key })) };
}
