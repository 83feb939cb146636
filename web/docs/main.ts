import { iconButton, Mark } from '../shared/controls.ts';
import { button, el, h, render, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../shared/dom.ts';
import { applyTheme, ThemeChoice } from '../shared/settings.ts';
import { type Document, groupsOf, type Operation, operationsOf } from './document.ts';
import { Guide } from './guide.ts';
import { guideAt, useGuides, useLoaded } from './guide-texts.ts';
import { Navigation } from './navigation.ts';
import { OperationView } from './operation-view.ts';
import { useShared } from './snippets/snippet-view.ts';

/** Loads the OpenAPI document of the service and shows it. */
function Page() {
  const [document, setDocument] = useState<Document>();
  const [hasFailed, setFailed] = useState(false);
  const load = () => {
    setFailed(false);
    fetch('/openapi.json')
      .then((response) => (response.ok ? response.json() : Promise.reject()))
      .then(setDocument, () => setFailed(true));
  };
  useEffect(load, []);
  if (document !== undefined) return h(Reference, { document });
  return el('main.alone', [
    hasFailed
      ? h('div', { class: 'note bad', role: 'alert' }, [
          el('p', 'The OpenAPI document cannot be loaded.'),
          button({ onClick: load }, 'Try again'),
        ])
      : h('p', { class: 'soft', role: 'status' }, 'Loading…'),
  ]);
}

/** Loads the Markdown parser, too. */
const loadGuidePage = () => import('./guide-page.ts').then(({ GuidePage }) => GuidePage);

/** The navigation, beside the operation or guide that the address names, or the rules of all operations. */
function Reference({ document: api }: { document: Document }) {
  const groups = useMemo(() => groupsOf(operationsOf(api)), [api]);
  const operations = groups.flatMap((group) => group.operations);
  const shared = useShared();
  const hash = useHash();
  const guides = useGuides();
  const shown = guideAt(hash, guides);
  const GuidePage = useLoaded(shown && loadGuidePage);
  const at = operations.findIndex(({ operationId }) => operationId === hash);
  const operation = operations[at];
  const [isMenuOpen, setMenuOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const focus = () => main.current?.focus({ preventScroll: true });
  const isFirst = useRef(true);
  const title = operation?.summary ?? shown?.guide.title;
  useLayoutEffect(() => {
    document.title = `${title === undefined ? '' : `${title} · `}Backscroll API reference`;
    const section = operation === undefined ? document.getElementById(hash) : null;
    if (section !== null) section.scrollIntoView();
    else if (!shown?.anchor) scrollTo(0, 0);
    if (!isFirst.current) focus();
    isFirst.current = false;
  }, [hash, operation, title]);
  const skip = (event: Event) => {
    event.preventDefault();
    focus();
  };
  const closeOnEscape = (event: KeyboardEvent) => {
    if (event.key === 'Escape') setMenuOpen(false);
  };
  return h('div', { onKeyDown: closeOnEscape }, [
    h('a', { class: 'skip', href: '#content', onClick: skip }, 'Skip to content'),
    el('header.top.row', [
      h('a', { class: 'brand', href: '#' }, h(Mark, null), 'Backscroll ', el('span.soft', 'API reference')),
      iconButton('menu', 'Menu', {
        class: 'menu quiet icon-only',
        'aria-expanded': isMenuOpen,
        onClick: () => setMenuOpen(!isMenuOpen),
      }),
      h('a', { class: 'button quiet', href: '/console' }, 'Console'),
      h(ThemeChoice, null),
    ]),
    el('div.columns', [
      h('div', { class: isMenuOpen ? 'side open' : 'side' }, [
        h(Navigation, {
          document: api,
          groups,
          guides,
          current: hash,
          shared,
          open: () => setMenuOpen(true),
          leave: () => setMenuOpen(false),
        }),
      ]),
      h('main', { tabIndex: -1, ref: main }, [
        operation === undefined
          ? shown === undefined
            ? h(Guide, { document: api, operations, shared })
            : GuidePage && h(GuidePage, { key: shown.guide.name, ...shown, guides })
          : h(OperationView, { key: operation.operationId, document: api, operation, shared }),
        h(Neighbours, { before: at < 0 ? undefined : (operations[at - 1] ?? null), after: operations[at + 1] }),
      ]),
    ]),
  ]);
}

/** Links to the operations before and after. The guide (null) comes before the first operation. */
function Neighbours({ before, after }: { before: Operation | null | undefined; after: Operation | undefined }) {
  return h('nav', { class: 'neighbours row', 'aria-label': 'Previous and next' }, [
    before === undefined
      ? el('span')
      : h('a', { href: `#${before?.operationId ?? ''}`, rel: 'prev' }, `← ${before?.summary ?? 'Overview'}`),
    after !== undefined && h('a', { href: `#${after.operationId}`, rel: 'next' }, `${after.summary} →`),
  ]);
}

/** The part of the address behind `#`, so that it can be bookmarked, shared and returned to. */
function useHash(): string {
  const [hash, setHash] = useState(() => location.hash.slice(1));
  useEffect(() => {
    const follow = () => setHash(location.hash.slice(1));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return hash;
}

applyTheme();
render(h(Page, null), document.body);
