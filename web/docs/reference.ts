import { h, useLayoutEffect, useMemo, useState } from '../shared/dom.ts';
import { ThemeChoice } from '../shared/theme.ts';
import { type Document, groupsOf, operationsOf } from './document.ts';
import { guides } from './guide.ts';
import { Navigation } from './navigation.ts';
import { OperationView } from './operation-view.ts';
import { prose } from './prose.ts';
import { useShared } from './shared-state.ts';
import { useCurrent } from './use-current.ts';

/** The whole reference, on one page, so that the browser can search it. */
export function Reference({ document: api }: { document: Document }) {
  const groups = useMemo(() => groupsOf(operationsOf(api)), [api]);
  const ids = useMemo(
    () => [
      ...guides.map(({ id }) => id),
      ...groups.flatMap(({ operations }) => operations.map((one) => one.operationId)),
    ],
    [groups],
  );
  const shared = useShared();
  const current = useCurrent(ids);
  const [isMenuOpen, setMenuOpen] = useState(false);
  // The address may name a part that was not there when the browser looked for it.
  useLayoutEffect(() => {
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, []);
  const closeOnEscape = (event: KeyboardEvent) => {
    if (event.key === 'Escape') setMenuOpen(false);
  };
  return h(
    'div',
    { onKeyDown: closeOnEscape },
    h('a', { class: 'skip', href: '#content' }, 'Skip to content'),
    h(
      'header',
      { class: 'top' },
      h(
        'button',
        { type: 'button', class: 'menu', 'aria-expanded': isMenuOpen, onClick: () => setMenuOpen(!isMenuOpen) },
        'Menu',
      ),
      h('h1', null, 'Backscroll ', h('span', { class: 'soft' }, 'API reference')),
      h(ThemeChoice, null),
    ),
    h(
      'div',
      { class: 'columns' },
      h(
        'div',
        { class: isMenuOpen ? 'side open' : 'side' },
        h(Navigation, { groups, current, leave: () => setMenuOpen(false) }),
      ),
      h(
        'main',
        { id: 'content', tabIndex: -1 },
        h(
          'p',
          { class: 'lead' },
          prose(`${api.info.description} This page is made from `),
          h('a', { href: '/openapi.json' }, 'openapi.json'),
          `, version ${api.info.version}; its examples are what a service with the starter records answers.`,
        ),
        guides.map(({ id, title, view }) =>
          h('section', { key: id, id, class: 'guide stack' }, h('h2', null, title), h(view, { document: api })),
        ),
        groups.map(({ tag, operations }) =>
          h(
            'section',
            { key: tag },
            h('h2', { class: 'group' }, tag),
            operations.map((operation) =>
              h(OperationView, { key: operation.operationId, document: api, operation, shared }),
            ),
          ),
        ),
      ),
    ),
  );
}
