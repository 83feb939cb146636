import { el, h } from '../../shared/dom.ts';
import { Time } from '../components/ui.ts';
import type { ChildChunk } from '../state/types.ts';
import { Diff } from './diff-view.ts';

/** Another edit was saved since the text was read: both texts and their difference. Nothing was overwritten. */
export function Conflict({ theirs, mine }: { theirs: ChildChunk; mine: string }) {
  return [
    h(
      'div',
      { class: 'note warn', role: 'alert' },
      el('h3', 'This chunk was changed while you were editing'),
      el('p', 'Another edit was saved ', h(Time, { at: theirs.updated_at }), '. Your text is not saved yet.'),
    ),
    el(
      'div.pair',
      h(Text, { title: 'The saved text', text: theirs.content }),
      h(Text, { title: 'Your text', text: mine }),
    ),
    h(Diff, { before: theirs.content, after: mine, label: 'From the saved text to yours' }),
  ];
}

function Text({ title, text }: { title: string; text: string }) {
  return el(
    'div.stack',
    el('h4', title),
    h('div', { class: 'as-written boxed', role: 'group', tabIndex: 0, 'aria-label': title }, text),
  );
}
