import { type ComponentChildren, el, h, useEffect, useRef } from '../../shared/dom.ts';
import { Chip, Chips } from '../components/chips.ts';
import { FilterSearch } from '../components/search-field.ts';
import { useRecord } from '../hooks/use-record.ts';
import { useTitle } from '../hooks/use-title.ts';
import { hrefOf, useFilters } from '../state/route.ts';
import type { Dataset, DocumentShown } from '../state/types.ts';
import { Hits } from './hits.ts';

type Crumb = { name: string; href: string };
type Props = {
  title: string;
  dataset?: string;
  trail?: readonly Crumb[];
  beside?: ComponentChildren;
  children?: ComponentChildren;
};

/** The parts of every level: the search over its knowledge base or all of them, the path to the level, its name, and its rows or the hits. */
export function Level({ title, dataset, trail = [], beside, children }: Props) {
  const { filters, hrefOfFilters } = useFilters();
  const { q = '', where } = filters;
  const isEverywhere = dataset === undefined || where === 'all';
  const isSearch = q.trim() !== '';
  useTitle(q && `Search: ${q}`, title, title === 'Knowledge' ? undefined : 'Knowledge');
  const heading = useRef<HTMLHeadingElement>(null);
  // The link that led here was removed, and the focus with it.
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, []);
  return el(
    'div.page.knowledge.stack',
    trail.length > 0 &&
      h(
        'nav',
        { 'aria-label': 'Breadcrumbs', class: 'trail' },
        el(
          'ol.plain.row',
          trail.map(({ name, href }) => h('li', { key: href }, h('a', { href }, name))),
        ),
      ),
    el('div.page-head.row', h('h1', { ref: heading, tabIndex: -1 }, isSearch ? 'Search in Knowledge' : title), beside),
    h(FilterSearch, { label: isEverywhere ? 'Search all knowledge bases' : 'Search this knowledge base' }),
    isSearch && dataset !== undefined
      ? h(
          Chips,
          { label: 'Searched' },
          h(Chip, {
            label: 'All knowledge bases',
            isActive: isEverywhere,
            href: hrefOfFilters({ where: isEverywhere ? '' : 'all' }),
          }),
        )
      : null,
    isSearch ? h(Hits, { q, dataset_id: isEverywhere ? undefined : dataset }) : children,
  );
}

/** The names of the current level and those above it, as far as they are loaded; else the beginning of the id. */
export function useTrail(dataset: string, document?: string, version = 0) {
  const path = ['admin', 'datasets', dataset];
  const inDataset = useRecord<Dataset>(path);
  const shown = useRecord<DocumentShown>(
    document === undefined ? undefined : [...path, 'documents', document],
    version,
  );
  const datasetName = inDataset?.name || `Dataset ${dataset.slice(0, 8)}`;
  const top = { name: 'Knowledge', href: hrefOf('knowledge') };
  if (document === undefined) return { trail: [top], name: datasetName, shown };
  const trail = [top, { name: datasetName, href: hrefOf('knowledge', dataset) }];
  return { trail, name: shown?.name || `Document ${document.slice(0, 8)}`, shown };
}
