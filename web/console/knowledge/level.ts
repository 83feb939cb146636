import { Icon } from '../../shared/controls.ts';
import { type ComponentChildren, el, h } from '../../shared/dom.ts';
import { Chip, Chips, FilterSearch } from '../components/filters.ts';
import { Marked, matchesIn, wordsOf } from '../components/marked-text.ts';
import { type Crumb, counted, ListEnd, listed, Page } from '../components/ui.ts';
import { useList } from '../hooks/requests.ts';
import { useRecord } from '../hooks/use-record.ts';
import { useSettled } from '../hooks/use-settled.ts';
import { pathOf } from '../state/api.ts';
import { hrefOf, hrefWith, useFilters } from '../state/route.ts';
import type { Dataset, DocumentShown, KnowledgeHit } from '../state/types.ts';

/** The hits without segments of which a chunk is a hit as well: the chunk says where the words are. */
export function withoutRepeats(hits: readonly KnowledgeHit[]): KnowledgeHit[] {
  const inChunks = new Set(hits.flatMap((hit) => (hit.child_chunk_id === null ? [] : hit.segment_id)));
  return hits.filter((hit) => hit.child_chunk_id !== null || !inChunks.has(hit.segment_id));
}

/** The address of a hit, where its words are marked. */
export const hrefOfHit = ({ dataset_id, document_id, segment_id, child_chunk_id }: KnowledgeHit, words: string) =>
  hrefWith(['knowledge', dataset_id, document_id, segment_id, child_chunk_id ?? ''].filter(Boolean), { words });

const placeOf = ({ segment_position, child_chunk_position: chunk }: KnowledgeHit): string =>
  `Segment ${segment_position}${chunk === null ? '' : `, chunk ${chunk}`}`;

type Name = { id: string; name: string };
type Props = { q: string; dataset: string | undefined; isEverywhere: boolean; names: readonly Name[] };

/** Names with these words, then passages of a knowledge base or of all, by document. */
function Hits({ q, dataset, isEverywhere, names }: Props) {
  const { hrefOfFilters } = useFilters();
  const words = useSettled(q);
  const query = { in: 'knowledge', q: words, dataset_id: isEverywhere ? undefined : dataset };
  const list = useList<KnowledgeHit>(pathOf(['admin', 'search'], query));
  const hits = withoutRepeats(list.rows);
  const marked = (text: string) => h(Marked, { text, ranges: matchesIn(text, wordsOf(words)) });
  const isNamed = (name: string) => matchesIn(name, wordsOf(words)).length > 0;
  const documents = [...Map.groupBy(hits, ({ document_id }) => document_id).values()]
    .map((passages) => ({ first: passages[0] as KnowledgeHit, passages }))
    .toSorted((one, other) => Number(isNamed(other.first.document_name)) - Number(isNamed(one.first.document_name)));
  // A document whose text has the words as well is below, with its passages.
  const named = list.isLoading
    ? []
    : names.filter(({ id, name }) => isNamed(name) && !documents.some(({ first }) => first.document_id === id));
  const where = (label: string, isActive: boolean, where: string) =>
    h(Chip, { label, isActive, href: hrefOfFilters({ where }) });
  const passage = (hit: KnowledgeHit) =>
    h('li', { key: `${hit.segment_id} ${hit.child_chunk_id}` }, [
      h('a', { href: hrefOfHit(hit, words) }, [
        el('span.as-written', h(Marked, { text: hit.snippet, ranges: hit.ranges })),
        el('span.soft.small', placeOf(hit)),
      ]),
    ]);
  return [
    el('div.row', [
      dataset !== undefined &&
        h(Chips, { label: 'Searched' }, [
          where('This knowledge base', !isEverywhere, ''),
          where('All knowledge bases', isEverywhere, 'all'),
        ]),
      h('span', { class: 'soft', role: 'status' }, [
        hits.length > 0 && `${listed({ ...list, rows: hits }, 'passage')} in ${counted(documents.length, 'document')}`,
      ]),
    ]),
    named.length > 0 &&
      h('ul', { class: 'plain card hits', 'aria-label': 'Names' }, [
        named.map(({ id, name }) =>
          h('li', { key: id }, [
            h('a', { href: hrefOf('knowledge', ...(dataset === undefined ? [id] : [dataset, id])) }, marked(name)),
          ]),
        ),
      ]),
    documents.map(({ first: { dataset_id, document_id, document_name, dataset_name }, passages }) =>
      h('section', { key: document_id, class: 'card stack', 'aria-label': document_name }, [
        el('div.row', [
          h(Icon, { name: 'file' }),
          el('h2', [
            h('a', { href: hrefOf('knowledge', dataset_id, document_id) }, marked(document_name || document_id)),
          ]),
          isEverywhere && el('span.soft', dataset_name),
          el('span.soft.small.at-end', counted(passages.length, 'passage')),
        ]),
        h('ol', { class: 'plain hits', 'aria-label': 'Hits' }, passages.map(passage)),
      ]),
    ),
    (named.length === 0 || list.rows.length > 0 || list.isLoading || list.error) &&
      h(ListEnd, { list, icon: 'search', nothing: 'No segment or chunk has these words.' }),
  ];
}

type LevelProps = {
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
export function Level({ title, dataset, trail = [], meta, actions, names = [], children }: LevelProps) {
  const { q = '', where } = useFilters().filters;
  const isEverywhere = dataset === undefined || where === 'all';
  return h(Page, { title, part: q && `Search: ${q}`, trail, meta, actions, look: 'knowledge' }, [
    h(FilterSearch, { label: isEverywhere ? 'Search all knowledge bases' : 'Search this knowledge base' }),
    q.trim() === '' ? children : h(Hits, { q, dataset, isEverywhere, names }),
  ]);
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
