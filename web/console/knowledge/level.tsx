import type { ComponentChildren } from 'preact';
import { Icon } from '../../shared/controls.tsx';
import { Chip, Chips, FilterSearch } from '../components/filters.tsx';
import { Marked, matchesIn, wordsOf } from '../components/marked-text.tsx';
import { type Crumb, counted, ListEnd, listed, Page } from '../components/ui.tsx';
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
  const marked = (text: string) => <Marked text={text} ranges={matchesIn(text, wordsOf(words))} />;
  const isNamed = (name: string) => matchesIn(name, wordsOf(words)).length > 0;
  const documents = [...Map.groupBy(hits, ({ document_id }) => document_id).values()]
    .map((passages) => ({ first: passages[0] as KnowledgeHit, passages }))
    .toSorted((one, other) => Number(isNamed(other.first.document_name)) - Number(isNamed(one.first.document_name)));
  // A document whose text has the words as well is below, with its passages.
  const named = list.isLoading
    ? []
    : names.filter(({ id, name }) => isNamed(name) && !documents.some(({ first }) => first.document_id === id));
  const where = (label: string, isActive: boolean, where: string) => (
    <Chip label={label} isActive={isActive} href={hrefOfFilters({ where })} />
  );
  const passage = (hit: KnowledgeHit) => (
    <li key={`${hit.segment_id} ${hit.child_chunk_id}`}>
      <a href={hrefOfHit(hit, words)}>
        <span class="as-written">
          <Marked text={hit.snippet} ranges={hit.ranges} />
        </span>
        <span class="soft small">{placeOf(hit)}</span>
      </a>
    </li>
  );
  return (
    <>
      <div class="row">
        {dataset !== undefined && (
          <Chips label="Searched">
            {where('This knowledge base', !isEverywhere, '')}
            {where('All knowledge bases', isEverywhere, 'all')}
          </Chips>
        )}
        <span class="soft" role="status">
          {hits.length > 0 &&
            `${listed({ ...list, rows: hits }, 'passage')} in ${counted(documents.length, 'document')}`}
        </span>
      </div>
      {named.length > 0 && (
        <ul class="plain card hits" aria-label="Names">
          {named.map(({ id, name }) => (
            <li key={id}>
              <a href={hrefOf('knowledge', ...(dataset === undefined ? [id] : [dataset, id]))}>{marked(name)}</a>
            </li>
          ))}
        </ul>
      )}
      {documents.map(({ first: { dataset_id, document_id, document_name, dataset_name }, passages }) => (
        <section key={document_id} class="card stack" aria-label={document_name}>
          <div class="row">
            <Icon name="file" />
            <h2>
              <a href={hrefOf('knowledge', dataset_id, document_id)}>{marked(document_name || document_id)}</a>
            </h2>
            {isEverywhere && <span class="soft">{dataset_name}</span>}
            <span class="soft small at-end">{counted(passages.length, 'passage')}</span>
          </div>
          <ol class="plain hits" aria-label="Hits">
            {passages.map(passage)}
          </ol>
        </section>
      ))}
      {(named.length === 0 || list.rows.length > 0 || list.isLoading || list.error) && (
        <ListEnd list={list} icon="search" nothing="No segment or chunk has these words." />
      )}
    </>
  );
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
  return (
    <Page title={title} part={q && `Search: ${q}`} trail={trail} meta={meta} actions={actions} look="knowledge">
      <FilterSearch label={isEverywhere ? 'Search all knowledge bases' : 'Search this knowledge base'} />
      {q.trim() === '' ? children : <Hits q={q} dataset={dataset} isEverywhere={isEverywhere} names={names} />}
    </Page>
  );
}

/** The names of the current level and those above it, as far as they are loaded; else the beginning of the id. */
export function useTrail(dataset: string, document?: string, version = 0) {
  const path = ['admin', 'datasets', dataset];
  const inDataset = useRecord<Dataset>(path);
  const documentPath = document === undefined ? undefined : [...path, 'documents', document];
  const shown = useRecord<DocumentShown>(documentPath, version);
  const datasetName = inDataset?.name || `Dataset ${dataset.slice(0, 8)}`;
  const top = { name: 'Knowledge', href: hrefOf('knowledge') };
  if (document === undefined) return { trail: [top], name: datasetName, shown };
  const trail = [top, { name: datasetName, href: hrefOf('knowledge', dataset) }];
  return { trail, name: shown?.name || `Document ${document.slice(0, 8)}`, shown };
}
