import { type ComponentChildren, toChildArray } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Button, CopyButton, Icon, type IconName } from '../../shared/controls.tsx';
import type { All } from '../hooks/requests.ts';
import { type ApiError, isTemporary } from '../state/api.ts';
import { notePlace } from '../state/places.ts';
import { briefText, isDate, relativeText, type TimeForm, timeText } from '../state/times.ts';
import { whole } from './format-number.ts';

/* Small components that all views use. */

export * from './format-number.ts';
export { whole as count } from './format-number.ts';

type ErrorProps = { error: Error | ApiError | undefined; retry?: (() => void) | undefined };

export function ErrorNote({ error, retry }: ErrorProps) {
  if (error === undefined) return null;
  return (
    <div class="note bad row error-note" role="alert">
      <Icon name="failed" />
      <p>
        {error.message}
        {retry && isTemporary(error) && ' It is tried again every 5 seconds.'}
      </p>
      {'requestId' in error && error.requestId !== null && <code class="soft">request {error.requestId}</code>}
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

/** The shape of what is being loaded. */
export const Skeleton = ({ lines = 6 }: { lines?: number | undefined }) => (
  <div class="skeletons" role="status">
    <span class="hidden-label">Loading…</span>
    {Array.from({ length: lines }, (_, n) => (
      <span key={n} class="skeleton" />
    ))}
  </div>
);

/** An empty place: what would be here, and the action that fills it. */
export const Nothing = ({ icon, children }: { icon?: IconName | undefined; children?: ComponentChildren }) => (
  <div class="nothing">
    {icon && <Icon name={icon} />}
    <p>{children}</p>
  </div>
);

type ListEndProps = {
  list: All<unknown>;
  nothing: ComponentChildren;
  icon?: IconName;
  lines?: number;
  /** More rows are read before the user gets to the end. */
  readsAhead?: boolean;
};

const rootMargin = '800px';

/** The end of a list: that it loads, an error, a button for more rows, or that it is empty. */
export function ListEnd({ list, nothing, icon, lines, readsAhead = false }: ListEndProps) {
  const more = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!readsAhead || more.current === null) return undefined;
    // A list that scrolls by itself, or the window.
    const root = more.current.closest('.conversation-list');
    const read = ([entry]: IntersectionObserverEntry[]) => entry?.isIntersecting && list.more();
    const observer = new IntersectionObserver(read, { root, rootMargin });
    observer.observe(more.current);
    return () => observer.disconnect();
  }, [readsAhead, list.rows, list.isLoading]);
  if (list.error !== undefined)
    return <ErrorNote error={list.error} retry={list.rows.length > 0 ? list.more : list.reload} />;
  if (list.isLoading) return <Skeleton lines={list.rows.length > 0 ? 1 : lines} />;
  if (list.rows.length === 0) return <Nothing icon={icon}>{nothing}</Nothing>;
  return list.hasMore ? (
    <Button class="more" ref={more} onClick={list.more}>
      Show more
    </Button>
  ) : null;
}

/** For pages that are empty at first. */
export const FirstSteps = ({ text }: { text: string }) => [text, ' ', <a href="#/start">First steps</a>];

/** A time in seconds since 1970. The tooltip has it in UTC, and says how long ago that is. */
export function Time({ at, none = 'Never', form }: { at: number | null; none?: string; form?: TimeForm | 'brief' }) {
  if (at === null) return <span class="soft">{none}</span>;
  if (!isDate(at)) return <span title="seconds since 1970">{timeText(at)}</span>;
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={`${timeText(at, 'utc')} (${relativeText(at)})`}>
      {form === 'brief' ? briefText(at) : timeText(at, form)}
    </time>
  );
}

/** Parts in one line, with dots between them; none is at the edge of a line. */
export const Dots = ({ children }: { children?: ComponentChildren }) => (
  <span class="dots">{toChildArray(children).map((part) => part !== '' && <span>{part}</span>)}</span>
);

/** An id, as much of it as has room, and a button that copies it. */
export const Id = ({ id, text = id }: { id: string; text?: string }) => (
  <span class="id">
    <code class="one-line" title={id}>
      {text}
    </code>
    <CopyButton text={id} label={`Copy ${id.slice(0, 8)}`} icon="copy" />
  </span>
);

type LinkedProps = { n: number; href: string; look?: string | undefined; children?: ComponentChildren };

/** A number that leads to what it counts; a zero leads nowhere. */
export const Linked = ({ n, href, look, children }: LinkedProps) =>
  n === 0 ? (
    <span class="soft">0</span>
  ) : (
    <a class={look} href={href}>
      {whole(n)}
      {children}
    </a>
  );

/** A number as a bar, after its text: `of` is the largest one. */
export const Bar = ({ part, of }: { part: number; of: number }) => (
  <svg class="number-bar" viewBox="0 0 64 8" aria-hidden={true}>
    <rect width={(64 * part) / Math.max(1, of)} height="8" rx="2" />
  </svg>
);

/** Sets the title of the page: what is shown, from the most specific name to the name of the view. */
export function useTitle(...names: (string | undefined)[]): void {
  const title = [...names.filter(Boolean), 'Backscroll'].join(' · ');
  useEffect(() => {
    document.title = title;
    notePlace({ text: [...names.filter(Boolean)].join(' · '), href: location.hash });
  }, [title]);
}

export type Crumb = { name: string; href: string };

type PageProps = {
  title: string;
  /** The part of the view that is shown, for the title in the browser. */
  part?: string | undefined;
  /** The levels above this one. The heading then gets the focus if the link that led to the page is gone. */
  trail?: readonly Crumb[] | undefined;
  /** The size or the state of what is shown, beside the heading. */
  meta?: ComponentChildren;
  actions?: ComponentChildren;
  /** Another class of the view, for its style. */
  look?: string;
  children?: ComponentChildren;
};

/** A view with its one header: the way back, the heading, and the controls. All views have the edges and the width of `main`. */
export function Page({ title, part, trail, meta, actions, look = '', children }: PageProps) {
  useTitle(part, title, trail?.[0]?.name);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (trail && document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div class={`page stack ${look}`.trim()}>
      <header class="page-head row">
        {trail !== undefined && trail.length > 0 && (
          <nav aria-label="Breadcrumbs" class="trail soft small whole-row">
            <ol class="plain row">
              {trail.map(({ name, href }) => (
                <li key={href}>
                  <a href={href}>{name}</a>
                </li>
              ))}
            </ol>
          </nav>
        )}
        <div class="row">
          <h1 ref={heading} tabIndex={trail && -1}>
            {title}
          </h1>
          {meta && <span class="soft tabular">{meta}</span>}
        </div>
        {actions}
      </header>
      {children}
    </div>
  );
}

/** A part of a page with its heading, and what is beside the heading. */
export function Section({ title, meta, children }: Pick<PageProps, 'title' | 'meta' | 'children'>) {
  const id = useId();
  return (
    <section class="stack" aria-labelledby={id}>
      <div class="row">
        <h2 id={id}>{title}</h2>
        {meta && <span class="soft tabular">{meta}</span>}
      </div>
      {children}
    </section>
  );
}

type FactsProps = { facts: readonly (readonly [title: string, value: ComponentChildren])[] };

/** Values with their names, as a card. */
export const Facts = ({ facts }: FactsProps) => (
  <dl class="card facts tabular">
    {facts.map(([title, value]) => (
      <div key={title}>
        <dt class="small">{title}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);
