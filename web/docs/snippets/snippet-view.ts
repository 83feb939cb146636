import { button, h } from '../../shared/dom.ts';
import type { Operation } from '../document.ts';
import { languages, type Shared } from '../shared-state.ts';
import { CodeBlock } from './code-block.ts';
import { pythonOf } from './python-snippet.ts';
import { curlOf, type Filled, typescriptOf } from './snippets.ts';

const writers = { curl: curlOf, TypeScript: typescriptOf, Python: pythonOf };

type Props = { operation: Operation; filled: Filled; shared: Shared };

/** The request as code. */
export function SnippetView({ operation, filled, shared }: Props) {
  const { language, choose } = shared;
  const text = writers[language](operation, filled, location.origin);
  return h(
    CodeBlock,
    { label: `${operation.summary} with ${language}`, text },
    h(
      'div',
      { class: 'choice', role: 'group', 'aria-label': 'Language' },
      languages.map((one) => button({ key: one, 'aria-pressed': one === language, onClick: () => choose(one) }, one)),
    ),
  );
}
