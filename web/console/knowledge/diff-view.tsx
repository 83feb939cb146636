import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { countWords } from '../../../server/src/domain/records/count-words.ts';
import { diffWords, type Part } from '../../../server/src/domain/words/word-diff.ts';
import { count, counted } from '../components/ui.tsx';

/** The difference between two texts. Long unchanged passages are left out, so that the changes are visible. */
export function Diff({ before, after, label }: { before: string; after: string; label: string }) {
  const parts = useMemo(() => diffWords(before, after), [before, after]);
  return (
    <div class="diff stack">
      <p class="soft">
        {label}: {summaryOf(parts)}
      </p>
      <div class="as-written boxed" role="group" tabIndex={0} aria-label={label}>
        {parts.map((part, index) => show(part, index === 0, index === parts.length - 1))}
      </div>
    </div>
  );
}

function summaryOf(parts: readonly Part[]): string {
  if (!parts.some(({ kind }) => kind !== 'same')) return 'no difference.';
  const wordsOf = (kind: Part['kind']) =>
    parts.reduce((sum, part) => (part.kind === kind ? sum + countWords(part.text) : sum), 0);
  const [removed, added] = [wordsOf('gone'), wordsOf('new')];
  if (removed + added === 0) return 'only spaces or punctuation.';
  return `${counted(removed, 'word')} removed, ${count(added)} added.`;
}

/** Units of unchanged text that are shown beside a change. */
const contextUnits = 160;

function show({ kind, text }: Part, isFirst: boolean, isLast: boolean): ComponentChildren {
  // An added or removed line end would be invisible.
  const Change = kind === 'gone' ? 'del' : 'ins';
  if (kind !== 'same') return <Change>{text.replace(/\r?\n/g, '↵$&')}</Change>;
  const head = isFirst ? 0 : contextUnits;
  const tail = isLast ? 0 : contextUnits;
  if (text.length <= head + tail + contextUnits) return text;
  // Cuts no word, and no surrogate pair in a text without spaces.
  const begin = text.slice(0, head).replace(/(?<=\s)\S+$|[\ud800-\udbff]$/, '');
  const end = text.slice(text.length - tail).replace(/^\S+(?=\s)|^[\udc00-\udfff]/, '');
  const left = text.length - begin.length - end.length;
  return [begin, <span class="left-out soft small">⋯ {count(left)} characters unchanged ⋯</span>, end];
}
