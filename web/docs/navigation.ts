import { type ComponentChildren, h, useState } from '../shared/dom.ts';
import { type Document, type Group, textsOf } from './document.ts';
import { guides } from './guide.ts';
import { Method } from './operation-view.ts';
import { textOf } from './prose.ts';

type Props = { document: Document; groups: readonly Group[]; current: string; leave: () => void };

/** Links to the guides and all operations. Groups for administrators are folded. `leave` is called when the user follows one. */
export function Navigation({ document, groups, current, leave }: Props) {
  const [filter, setFilter] = useState('');
  const words = filter.trim().toLowerCase();
  const hasWords = (text: string) => words.split(/\s+/).every((word) => text.toLowerCase().includes(word));
  const matchingGuides = guides.filter(({ title, text, view }) =>
    hasWords(`${title} ${text?.(document)} ${textOf(view({ document }))}`),
  );
  const matchingGroups = groups
    .map(({ tag, operations }) => ({ tag, operations: operations.filter((one) => hasWords(textsOf(one))) }))
    .filter(({ operations }) => operations.length > 0);
  const [first = words === '' ? undefined : matchingGuides[0]?.id] = matchingGroups.flatMap(({ operations }) =>
    operations.map(({ operationId }) => operationId),
  );
  const goToFirst = (event: SubmitEvent) => {
    event.preventDefault();
    if (first === undefined) return;
    location.hash = first;
    leave();
  };
  const link = (id: string, ...children: ComponentChildren[]) =>
    h(
      'li',
      { key: id },
      h('a', { href: `#${id}`, 'aria-current': id === current ? 'page' : undefined, onClick: leave }, children),
    );
  const links = (operations: Group['operations']) =>
    operations.map(({ operationId, method, summary }) => link(operationId, summary, h(Method, { method })));
  const guideLinks = h(
    'ul',
    { class: 'plain' },
    matchingGuides.map(({ id, title }) => link(id, title)),
  );
  return h(
    'nav',
    { 'aria-label': 'Reference' },
    h(
      'form',
      { role: 'search', onSubmit: goToFirst },
      h('input', {
        type: 'search',
        'aria-label': 'Filter operations and guides',
        placeholder: 'Filter operations',
        value: filter,
        onInput: (event: Event) => setFilter((event.target as HTMLInputElement).value),
      }),
    ),
    h('div', { role: 'status', class: 'soft' }, first === undefined && words !== '' && 'Nothing matches.'),
    words === '' && guideLinks,
    matchingGroups.map(({ tag, operations }) =>
      tag.startsWith('Admin')
        ? h(
            'details',
            { key: tag, open: words !== '' || operations.some(({ operationId }) => operationId === current) },
            h('summary', { class: 'tag' }, tag),
            h('ul', { class: 'plain' }, links(operations)),
          )
        : [
            h('p', { key: `${tag}-name`, class: 'tag', id: `nav-${tag}` }, tag),
            h('ul', { key: tag, class: 'plain', 'aria-labelledby': `nav-${tag}` }, links(operations)),
          ],
    ),
    // Their texts have many words: what an operation is named after comes first.
    words !== '' && guideLinks,
  );
}
