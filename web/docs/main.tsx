import { render } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Button, IconButton, Mark, SkipLink, Status } from '../shared/controls.tsx';
import { Lazy } from '../shared/lazy.tsx';
import { applyTheme, ThemeChoice } from '../shared/settings.tsx';
import { type Document, groupsOf, type Operation, operationsOf, resolved } from './document.ts';
import { Guide } from './guide.tsx';
import type { GuideProps } from './guide-page.tsx';
import { guideAt, useGuides } from './guide-texts.ts';
import { Navigation } from './navigation.tsx';
import { OperationView } from './operation-view.tsx';
import { useShared } from './snippets/snippet-view.tsx';

/** Loads the OpenAPI document of the service and shows it. */
function Page() {
  const [document, setDocument] = useState<Document>();
  const [hasFailed, setFailed] = useState(false);
  const load = () => {
    setFailed(false);
    fetch('/openapi.json')
      .then((response) => (response.ok ? response.json() : Promise.reject()))
      .then((document) => setDocument(resolved(document)))
      .catch(() => setFailed(true));
  };
  useEffect(load, []);
  if (document !== undefined) return <Reference document={document} />;
  return (
    <main class="alone">
      {hasFailed ? (
        <div class="note bad" role="alert">
          <p>The OpenAPI document cannot be loaded.</p>
          <Button onClick={load}>Try again</Button>
        </div>
      ) : (
        <Status>Loading…</Status>
      )}
    </main>
  );
}

/** Loads the Markdown parser, too. */
const loadGuidePage = () => import('./guide-page.tsx');

/** The navigation, beside the operation or guide that the address names, or the rules of all operations. */
function Reference({ document: api }: { document: Document }) {
  const groups = useMemo(() => groupsOf(operationsOf(api)), [api]);
  const operations = groups.flatMap((group) => group.operations);
  const shared = useShared();
  const hash = useHash();
  const guides = useGuides();
  const shown = guideAt(hash, guides);
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
  const closeOnEscape = (event: KeyboardEvent) => {
    if (event.key === 'Escape') setMenuOpen(false);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the menu wherever the focus is
    <div onKeyDown={closeOnEscape}>
      <SkipLink skip={focus} />
      <header class="top row">
        <a class="brand" href="/docs#">
          <Mark />
          Backscroll <span class="soft">API reference</span>
        </a>
        <IconButton
          icon="menu"
          label="Menu"
          class="menu quiet icon-only"
          aria-expanded={isMenuOpen}
          onClick={() => setMenuOpen(!isMenuOpen)}
        />
        <a class="button quiet" href="/console">
          Console
        </a>
        <ThemeChoice />
      </header>
      <div class="columns">
        <div class={isMenuOpen ? 'side open' : 'side'}>
          <Navigation
            document={api}
            groups={groups}
            guides={guides}
            current={hash}
            shared={shared}
            setOpen={setMenuOpen}
          />
        </div>
        <main tabIndex={-1} ref={main}>
          {operation === undefined ? (
            shown === undefined ? (
              <Guide document={api} operations={operations} shared={shared} />
            ) : (
              <Lazy<GuideProps> key={shown.guide.name} load={loadGuidePage} props={{ ...shown, guides }} />
            )
          ) : (
            <OperationView key={operation.operationId} operation={operation} shared={shared} />
          )}
          <Neighbours before={at < 0 ? undefined : (operations[at - 1] ?? null)} after={operations[at + 1]} />
        </main>
      </div>
    </div>
  );
}

/** Links to the operations before and after. The guide (null) comes before the first operation. */
function Neighbours({ before, after }: { before: Operation | null | undefined; after: Operation | undefined }) {
  return (
    <nav class="neighbours row" aria-label="Previous and next">
      {before === undefined ? (
        <span />
      ) : (
        <a href={`#${before?.operationId ?? ''}`} rel="prev">
          ← {before?.summary ?? 'Overview'}
        </a>
      )}
      {after !== undefined && (
        <a href={`#${after.operationId}`} rel="next">
          {after.summary} →
        </a>
      )}
    </nav>
  );
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
render(<Page />, document.body);
