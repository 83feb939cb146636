import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Document, type Group, textsOf } from './document.ts';
import { guides as rules } from './guide.tsx';
import { type GuideText, guideHref } from './guide-texts.ts';
import { Method } from './operation-view.tsx';
import { textOf } from './prose.tsx';
import type { Shared } from './snippets/snippet-view.tsx';

type Props = {
  document: Document;
  groups: readonly Group[];
  guides: readonly GuideText[];
  current: string;
  shared: Shared;
  setOpen: (isOpen: boolean) => void;
};

/** `/`, unless a field has the focus, and Ctrl-K or ⌘K. */
function asksForSearch({ target, key, ctrlKey, metaKey, shiftKey, altKey }: KeyboardEvent): boolean {
  const isTyping = (target as Element).matches('input, textarea, select');
  const isCommand = ctrlKey || metaKey;
  return !altKey && (isCommand ? key.toLowerCase() === 'k' && !shiftKey : key === '/' && !isTyping);
}

/** Links to the guides and all operations. Groups for administrators are folded. It closes when the user follows one. */
export function Navigation({ document, groups, guides, current, shared, setOpen }: Props) {
  const [filter, setFilter] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (!asksForSearch(event)) return;
      event.preventDefault();
      setOpen(true);
      // On a small screen the field is hidden until it is rendered again.
      queueMicrotask(() => field.current?.select());
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
  const words = filter.trim().toLowerCase();
  const hasWords = (text: string) => words.split(/\s+/).every((word) => text.toLowerCase().includes(word));
  const matchingRules = rules.filter(({ title, text, view }) =>
    hasWords(`${title} ${text?.(document)} ${textOf(view({ document, operations: [], shared }))}`),
  );
  const matchingGuides = guides
    .filter(({ title, text }) => hasWords(`${title} ${text}`))
    .map((guide) => ({ ...guide, id: guideHref(guide.name).slice(1) }));
  const matchingGroups = groups
    .map(({ tag, operations }) => ({ tag, operations: operations.filter((one) => hasWords(textsOf(one))) }))
    .filter(({ operations }) => operations.length > 0);
  const [first = words === '' ? undefined : (matchingRules[0]?.id ?? matchingGuides[0]?.id)] = matchingGroups.flatMap(
    ({ operations }) => operations.map(({ operationId }) => operationId),
  );
  const goToFirst = (event: SubmitEvent) => {
    event.preventDefault();
    if (first === undefined) return;
    location.hash = first;
    setOpen(false);
  };
  const isCurrent = (id: string) => id === current || current.startsWith(`${id}/`);
  const link = (id: string, ...children: ComponentChildren[]) => (
    <li key={id}>
      <a class="entry" href={`#${id}`} aria-current={isCurrent(id) ? 'page' : undefined} onClick={() => setOpen(false)}>
        {children}
      </a>
    </li>
  );
  const links = (operations: Group['operations']) =>
    operations.map(({ operationId, method, summary }) => link(operationId, summary, <Method method={method} />));
  const list = (name: string, links: ComponentChildren) => {
    const id = `nav-${name.replace(/\W+/, '-')}`;
    return (
      <>
        <p class="tag" id={id}>
          {name}
        </p>
        <ul class="plain" aria-labelledby={id}>
          {links}
        </ul>
      </>
    );
  };
  const guideLinks = <ul class="plain">{matchingRules.map(({ id, title }) => link(id, title))}</ul>;
  return (
    <nav aria-label="Reference">
      <form role="search" onSubmit={goToFirst}>
        <input
          type="search"
          ref={field}
          aria-keyshortcuts="/ Control+K"
          aria-label="Filter operations and guides"
          placeholder="Filter the reference ( / )"
          value={filter}
          onInput={({ currentTarget }) => setFilter(currentTarget.value)}
        />
      </form>
      <div role="status" class="soft">
        {first === undefined && words !== '' && 'Nothing matches.'}
      </div>
      {words === '' && guideLinks}
      {matchingGroups.map(({ tag, operations }) =>
        tag.startsWith('Admin') ? (
          <details key={tag} open={words !== '' || operations.some(({ operationId }) => operationId === current)}>
            <summary class="tag">{tag}</summary>
            <ul class="plain">{links(operations)}</ul>
          </details>
        ) : (
          list(tag, links(operations))
        ),
      )}
      {/* Their texts have many words: what an operation is named after comes first. */}
      {words !== '' && guideLinks}
      {[...Map.groupBy(matchingGuides, ({ group }) => group)].map(([group, pages]) =>
        list(
          group,
          pages.map(({ id, title }) => link(id, title)),
        ),
      )}
    </nav>
  );
}
