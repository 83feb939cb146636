import { useState } from 'preact/hooks';
import { CodeBlock, languageChoice } from '../../shared/code-block.tsx';
import type { Operation } from '../document.ts';
import { pythonOf } from './python-snippet.ts';
import { curlOf, type Filled, typescriptOf } from './snippets.ts';

const writers = { curl: curlOf, TypeScript: typescriptOf, Python: pythonOf };

type Props = { operation: Operation; filled: Filled; shared: Shared };

export function SnippetView({ operation, filled, shared }: Props) {
  const { language, choose } = shared;
  const text = writers[language](operation, filled, location.origin);
  const label = `${operation.summary} with ${language}`;
  return (
    <CodeBlock label={label} text={text}>
      {languageChoice(languages, language, choose)}
    </CodeBlock>
  );
}

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
