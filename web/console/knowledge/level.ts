import { type ComponentChildren, h } from '../../shared/dom.ts';
import { type Crumb, Page } from '../components/page.ts';
import { FilterSearch } from '../components/search-field.ts';
import { useRecord } from '../hooks/use-record.ts';
import { hrefOf, useFilters } from '../state/route.ts';
import type { Dataset, DocumentShown } from '../state/types.ts';
import { Hits } from './hits.ts';

type Props = {
  title: string;
  dataset?: string;
  trail?: readonly Crumb[];
  meta?: ComponentChildren;
  actions?: ComponentChildren;
  /** The names on this level that the search goes through as well. */
  names?: readonly { id: string; name: string }[];
  children?: ComponentChildren;
};

/** The parts of every level: its header, the search over its knowledge base or all of them, and its rows or the hits. */
export function Level({ title, dataset, trail = [], meta, actions, names = [], children }: Props) {
  const { q = '', where } = useFilters().filters;
  const isEverywhere = dataset === undefined || where === 'all';
  return h(
    Page,
    { title, part: q && `Search: ${q}`, trail, meta, actions, look: 'knowledge' },
    h(FilterSearch, { label: isEverywhere ? 'Search all knowledge bases' : 'Search this knowledge base' }),
    q.trim() === '' ? children : h(Hits, { q, dataset, isEverywhere, names }),
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
