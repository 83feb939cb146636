import { type ComponentChildren, h, useState } from '../shared/dom.ts';
import { type Group, matches } from './document.ts';
import { guides } from './guide.ts';
import { Method } from './operation-view.ts';

type Props = { groups: readonly Group[]; current: string; leave: () => void };

/** Links to all operations. `leave` is called when the user follows one. */
export function Navigation({ groups, current, leave }: Props) {
  const [filter, setFilter] = useState('');
  const matchingGroups = groups
    .map(({ tag, operations }) => ({ tag, operations: operations.filter((one) => matches(one, filter.trim())) }))
    .filter(({ operations }) => operations.length > 0);
  const [first] = matchingGroups.flatMap(({ operations }) => operations);
  const goToFirst = (event: SubmitEvent) => {
    event.preventDefault();
    if (first === undefined) return;
    location.hash = first.operationId;
    leave();
  };
  const link = (id: string, ...children: ComponentChildren[]) =>
    h(
      'li',
      { key: id },
      h('a', { href: `#${id}`, 'aria-current': id === current ? 'page' : undefined, onClick: leave }, children),
    );
  return h(
    'nav',
    { 'aria-label': 'Reference' },
    h(
      'form',
      { role: 'search', onSubmit: goToFirst },
      h('input', {
        type: 'search',
        'aria-label': 'Filter operations',
        placeholder: 'Filter operations',
        value: filter,
        onInput: (event: Event) => setFilter((event.target as HTMLInputElement).value),
      }),
    ),
    h('div', { role: 'status', class: 'soft' }, first === undefined && 'No operation matches.'),
    filter.trim() === '' &&
      h(
        'ul',
        null,
        guides.map(({ id, title }) => link(id, title)),
      ),
    matchingGroups.map(({ tag, operations }) => [
      h('p', { key: `${tag}-name`, class: 'tag', id: `nav-${tag}` }, tag),
      h(
        'ul',
        { key: tag, 'aria-labelledby': `nav-${tag}` },
        operations.map(({ operationId, method, summary }) => link(operationId, summary, h(Method, { method }))),
      ),
    ]),
  );
}
