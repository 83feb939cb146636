import { useState } from '../shared/dom.ts';

export const languages = ['curl', 'TypeScript'] as const;
export type Language = (typeof languages)[number];

/** What all operations share: the language that was chosen, and keys by their kind. Keys are forgotten with the page. */
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
