import { Fragment, h } from '../shared/dom.ts';
import { Diff } from './diff-view.ts';
import type { ChildChunk } from './types.ts';
import { Time } from './ui.ts';

/** Another has written since the text was read: both texts and what sets them apart. Nothing was overwritten. */
export function Conflict({ theirs, mine }: { theirs: ChildChunk; mine: string }) {
  return h(
    Fragment,
    null,
    h(
      'div',
      { class: 'note warn', role: 'alert' },
      h('h3', null, 'This chunk was changed while you were editing'),
      h(
        'p',
        null,
        'Another edit was saved ',
        h(Time, { at: theirs.updated_at }),
        '. Yours is not saved, and not lost.',
      ),
    ),
    h(
      'div',
      { class: 'both' },
      h(Text, { title: 'What stands now', text: theirs.content }),
      h(Text, { title: 'What you wrote', text: mine }),
    ),
    h(Diff, { before: theirs.content, after: mine, label: 'From what stands now to what you wrote' }),
  );
}

function Text({ title, text }: { title: string; text: string }) {
  return h(
    'div',
    { class: 'stack' },
    h('h4', null, title),
    h('div', { class: 'chunk-text boxed', role: 'group', tabIndex: 0, 'aria-label': title }, text),
  );
}
