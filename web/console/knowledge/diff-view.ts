import { type ComponentChildren, h, useMemo } from '../../shared/dom.ts';
import { countWords } from '../parts/server-rules.ts';
import { count, counted } from '../parts/ui.ts';
import { diffWords, type Part } from './word-diff.ts';

/** How one text becomes another. Long stretches that stay are left out, so that what changes is seen. */
export function Diff({ before, after, label }: { before: string; after: string; label: string }) {
  const parts = useMemo(() => diffWords(before, after), [before, after]);
  return h(
    'div',
    { class: 'diff' },
    h('p', { class: 'soft' }, `${label}: ${summaryOf(parts)}`),
    h(
      'div',
      { class: 'chunk-text boxed', role: 'group', tabIndex: 0, 'aria-label': label },
      parts.map((part, index) => show(part, index === 0, index === parts.length - 1)),
    ),
  );
}

function summaryOf(parts: readonly Part[]): string {
  if (!parts.some(({ kind }) => kind !== 'same')) return 'no difference.';
  const wordsOf = (kind: Part['kind']) =>
    parts.reduce((sum, part) => (part.kind === kind ? sum + countWords(part.text) : sum), 0);
  const [gone, fresh] = [wordsOf('gone'), wordsOf('new')];
  if (gone + fresh === 0) return 'only spaces or punctuation.';
  return `${counted(gone, 'word')} removed, ${count(fresh)} added.`;
}

const around = 160;

function show({ kind, text }: Part, isFirst: boolean, isLast: boolean): ComponentChildren {
  // A line end that comes or goes would not be seen.
  if (kind !== 'same') return h(kind === 'gone' ? 'del' : 'ins', null, text.replace(/\r?\n/g, '↵$&'));
  const head = isFirst ? 0 : around;
  const tail = isLast ? 0 : around;
  if (text.length <= head + tail + around) return text;
  const left = text.length - head - tail;
  // Not between the halves of a character.
  const begin = text.slice(0, head).replace(/[\ud800-\udbff]$/, '');
  const end = text.slice(text.length - tail).replace(/^[\udc00-\udfff]/, '');
  return [begin, h('span', { class: 'left-out' }, `⋯ ${count(left)} characters stay ⋯`), end];
}
