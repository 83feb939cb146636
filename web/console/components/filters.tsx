import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { limits } from '../../../server/src/contract/limits.ts';
import { Icon, IconButton } from '../../shared/controls.tsx';
import { useStrip } from '../hooks/use-strip.ts';
import { useFilters } from '../state/route.ts';
import { useShortcut } from '../state/shortcuts.tsx';
import { count } from './ui.tsx';

/** A group of chips, with a name for screen readers. */
export function Chips({ label, children }: { label: string; children?: ComponentChildren }) {
  const strip = useStrip<HTMLDivElement>(location.hash);
  return (
    <div class="chips strip row tight" ref={strip} role="group" aria-label={label}>
      {children}
    </div>
  );
}

type ChipProps = {
  label: string;
  /** Null until it is known. */
  count?: number | null | undefined;
  /** There may be more. */
  isPartial?: boolean | undefined;
  isActive: boolean;
  /** It is shown only while it is on. */
  canRemove?: boolean;
  href: string;
};

/** A filter that is on or off: a link to the address with the other state. */
export const Chip = ({ label, count: matches, isPartial = false, isActive, canRemove, href }: ChipProps) => (
  <a class="entry chip" href={href} aria-current={isActive ? 'true' : undefined}>
    {label}
    {matches !== undefined && (
      <span class="chip-count tabular">{matches !== null && countText(matches, isPartial)}</span>
    )}
    {canRemove && [<Icon name="close" />, <span class="hidden-label"> (remove)</span>]}
  </a>
);

const countText = (matches: number, isPartial: boolean): string =>
  `${count(matches)}${isPartial || matches >= limits.searchCountMax ? '+' : ''}`;

type FilterChipsProps = {
  label: string;
  name: string;
  values: readonly (readonly [value: string, label: string])[];
  countOf?: ((value: string) => number) | undefined;
};

/** A chip for each value of a filter in the address. */
export function FilterChips({ label, name, values, countOf }: FilterChipsProps) {
  const { filters, hrefOfFilters } = useFilters();
  const chip = ([value, label]: readonly [string, string]) => {
    const isActive = filters[name] === value;
    const href = hrefOfFilters({ [name]: isActive ? undefined : value });
    return <Chip key={value} label={label} count={countOf?.(value)} isActive={isActive} href={href} />;
  };
  return <Chips label={label}>{values.map(chip)}</Chips>;
}

/** `change` gets every letter; in the address, `replace` the filter then. */
type SearchProps = { label: string; value: string; change: (value: string) => void };

/** The search of a view: `/` moves the focus to it, Enter and Escape leave it. Its label is its placeholder. */
export function ViewSearch({ label, value, change, leave }: SearchProps & { leave?: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  useShortcut('/', 'Search', () => field.current?.select());
  const onKeyDown = (event: KeyboardEvent) => {
    if (!['Enter', 'Escape'].includes(event.key) || event.isComposing) return;
    // A browser would delete the text on Escape.
    event.preventDefault();
    field.current?.blur();
    leave?.();
  };
  const clear = () => {
    change('');
    field.current?.focus();
  };
  return (
    <span class="search-box">
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onInput={({ currentTarget }) => change(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {value !== '' && <IconButton icon="close" label="Clear the search" onClick={clear} />}
    </span>
  );
}

/** The search of a view as a filter in the address. */
export function FilterSearch({ label, name = 'q' }: { label: string; name?: string }) {
  const { filters, setFilters } = useFilters();
  const change = (value: string) => setFilters({ [name]: value }, 'replace');
  return <ViewSearch label={label} value={filters[name] ?? ''} change={change} />;
}
