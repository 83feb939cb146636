import { el, h, useRef } from '../../shared/dom.ts';
import { Icon, iconButton } from '../../shared/icon.ts';
import { useFilters } from '../state/route.ts';
import { useShortcut } from '../state/shortcuts.ts';

type Props = { label: string; value: string; change: (value: string) => void };

/** A field for a search. `change` gets every letter; in the address, `replace` the filter then. */
export const SearchField = ({ label, value, change }: Props) =>
  el('label', label, h('input', { type: 'search', value, onInput: passTo(change) }));

/** The search of a view: `/` moves the focus to it, Enter and Escape leave it. Its label is its placeholder. */
export function ViewSearch({ label, value, change, leave }: Props & { leave?: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  useShortcut('/', 'Search', () => field.current?.select());
  const input = h('input', {
    ref: field,
    type: 'search',
    'aria-label': label,
    placeholder: label,
    value,
    onInput: passTo(change),
    onKeyDown: (event: KeyboardEvent) => {
      if (!['Enter', 'Escape'].includes(event.key) || event.isComposing) return;
      // A browser would delete the text on Escape.
      event.preventDefault();
      field.current?.blur();
      leave?.();
    },
  });
  const clear = () => {
    change('');
    field.current?.focus();
  };
  return el(
    'span.search-box',
    h(Icon, { name: 'search' }),
    input,
    value !== '' && iconButton('close', 'Clear the search', { onClick: clear }),
  );
}

/** The search of a view as a filter in the address. */
export function FilterSearch({ label, name = 'q' }: { label: string; name?: string }) {
  const { filters, setFilters } = useFilters();
  return h(ViewSearch, {
    label,
    value: filters[name] ?? '',
    change: (value) => setFilters({ [name]: value }, 'replace'),
  });
}

const passTo = (change: (value: string) => void) => (event: Event) => change((event.target as HTMLInputElement).value);
