import { type ComponentChildren, h } from '../../shared/dom.ts';
import { count } from './ui.ts';

/** A group of chips, with a name for screen readers. */
export const Chips = ({ label, children }: { label: string; children?: ComponentChildren }) =>
  h('div', { class: 'chips row', role: 'group', 'aria-label': label }, children);

type ChipProps = {
  label: string;
  /** The number of matches; `countMax` means that or more. */
  count?: number | undefined;
  countMax?: number;
  isActive: boolean;
} & ({ href: string } | { onClick: () => void });

/** A filter that is on or off: a link to the address with the other state, or a button. */
export function Chip({ label, count: matches, countMax = 1000, isActive, ...target }: ChipProps) {
  const content = [label, matches !== undefined && h('span', { class: 'chip-count' }, countText(matches, countMax))];
  return 'href' in target
    ? h('a', { class: 'chip', href: target.href, 'aria-current': isActive ? 'true' : undefined }, content)
    : h('button', { type: 'button', class: 'chip', 'aria-pressed': isActive, onClick: target.onClick }, content);
}

const countText = (n: number, max: number): string => (n >= max ? `${count(max)}+` : count(n));
