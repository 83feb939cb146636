import { h } from '../../shared/dom.ts';
import { Time } from '../components/ui.ts';
import type { ChildChunk } from '../state/types.ts';
import { Diff } from './diff-view.ts';

/** Another edit was saved since the text was read: both texts and their difference. Nothing was overwritten. */
export function Conflict({ theirs, mine }: { theirs: ChildChunk; mine: string }) {
  return [
    h(
      'div',
      { class: 'note warn', role: 'alert' },
      h('h3', null, 'This chunk was changed while you were editing'),
      h('p', null, 'Another edit was saved ', h(Time, { at: theirs.updated_at }), '. Your text is not saved yet.'),
    ),
    h(
      'div',
      { class: 'pair' },
      h(Text, { title: 'The saved text', text: theirs.content }),
      h(Text, { title: 'Your text', text: mine }),
    ),
    h(Diff, { before: theirs.content, after: mine, label: 'From the saved text to yours' }),
  ];
}

function Text({ title, text }: { title: string; text: string }) {
  return h(
    'div',
    { class: 'stack' },
    h('h4', null, title),
    h('div', { class: 'as-written boxed', role: 'group', tabIndex: 0, 'aria-label': title }, text),
  );
}
