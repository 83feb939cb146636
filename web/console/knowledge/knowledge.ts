import { type ComponentChildren, h, useEffect, useRef } from '../../shared/dom.ts';
import { pathOf } from '../parts/api.ts';
import { hrefOf, type ViewProps } from '../parts/route.ts';
import { limits } from '../parts/server-rules.ts';
import type { ChildChunk, Dataset, Document, Segment } from '../parts/types.ts';
import { counted, ListEnd } from '../parts/ui.ts';
import { type List, useList } from '../parts/use-list.ts';
import { cacheRecords, useRecord } from '../parts/use-record.ts';
import { useTitle } from '../parts/use-title.ts';
import { ChunkEntry } from './chunk-entry.ts';

/** Datasets, their documents, segments and chunks: one level at a time, each with its own address. */
export function KnowledgeView({ rest }: ViewProps) {
  const [dataset, document, segment] = rest;
  const parts = ['admin', 'datasets'];
  if (dataset === undefined) return h(Datasets, { key: 'datasets', parts });
  parts.push(dataset, 'documents');
  if (document === undefined) return h(Documents, { key: dataset, parts, rest });
  parts.push(document, 'segments');
  if (segment === undefined) return h(Segments, { key: document, parts, rest });
  parts.push(segment, 'child_chunks');
  return h(Chunks, { key: segment, parts, rest });
}

/** Names are short: a page has more of them than of texts. */
const namesAtOnce = limits.listRowsMax;

type LevelProps = { parts: readonly string[]; rest: readonly string[] };

function Datasets({ parts }: { parts: readonly string[] }) {
  const list = useRows<Dataset>(parts, namesAtOnce);
  return h(
    Level,
    {
      title: 'Knowledge',
      list,
      nothing: 'There are no datasets yet. Import them as records: npx backscroll import.',
    },
    h(
      'ul',
      { class: 'places' },
      list.rows.map(({ id, name, workspace_name }) =>
        h(
          'li',
          { key: id },
          h('a', { href: hrefOf('knowledge', id) }, name || id),
          h('span', { class: 'soft' }, workspace_name),
        ),
      ),
    ),
  );
}

function Documents({ parts, rest: [dataset = ''] }: LevelProps) {
  const list = useRows<Document>(parts, namesAtOnce);
  const { trail, name } = useTrail([dataset]);
  return h(
    Level,
    { title: name, trail, list, nothing: 'This dataset has no documents.' },
    h(
      'ul',
      { class: 'places' },
      list.rows.map(({ id, name }) =>
        h('li', { key: id }, h('a', { href: hrefOf('knowledge', dataset, id) }, name || id)),
      ),
    ),
  );
}

function Segments({ parts, rest: [dataset = '', document = ''] }: LevelProps) {
  const list = useRows<Segment>(parts);
  const { trail, name } = useTrail([dataset, document]);
  return h(
    Level,
    { title: name, trail, list, nothing: 'This document has no segments.' },
    h(
      'ul',
      { class: 'plain stack' },
      list.rows.map(({ id, position, content, child_chunk_count }) =>
        h(
          'li',
          { key: id, class: 'card stack' },
          h(
            'div',
            { class: 'row' },
            h('h2', null, h('a', { href: hrefOf('knowledge', dataset, document, id) }, `Segment ${position}`)),
            h('span', { class: 'soft' }, counted(child_chunk_count, 'chunk')),
          ),
          h('p', { class: 'chunk-text clamped' }, content),
        ),
      ),
    ),
  );
}

function Chunks({ parts, rest: [dataset = '', document = '', segment = ''] }: LevelProps) {
  const list = useList<ChildChunk>(pathOf(parts));
  const { trail, name, content } = useTrail([dataset, document, segment]);
  return h(
    Level,
    { title: name, trail, list, nothing: 'This segment has no child chunks.' },
    content !== undefined &&
      h(
        'details',
        { class: 'whole' },
        h('summary', null, 'Text of the whole segment'),
        h('div', { class: 'chunk-text' }, content),
      ),
    h(
      'ol',
      { class: 'plain stack' },
      list.rows.map((listed) => h(ChunkEntry, { key: listed.id, path: pathOf([...parts, listed.id]), listed })),
    ),
  );
}

type Crumb = { name: string; href: string };
type LevelFrame = {
  title: string;
  trail?: readonly Crumb[];
  list: List<unknown>;
  nothing: string;
  children?: ComponentChildren;
};

/** What every level shows: the path to it, its name, its rows and the end of the list. */
function Level({ title, trail = [], list, nothing, children }: LevelFrame) {
  useTitle(title, title === 'Knowledge' ? undefined : 'Knowledge');
  const heading = useRef<HTMLHeadingElement>(null);
  // The link that led here was removed, and the focus with it.
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus();
  }, []);
  return h(
    'div',
    { class: 'knowledge stack' },
    trail.length > 0 &&
      h(
        'nav',
        { 'aria-label': 'Breadcrumbs', class: 'trail' },
        h(
          'ol',
          null,
          trail.map(({ name, href }) => h('li', { key: href }, h('a', { href }, name))),
        ),
      ),
    h('h1', { ref: heading, tabIndex: -1 }, title),
    children,
    h(ListEnd, { list, nothing }),
  );
}

/** A list whose rows are cached, for the names on the levels below. */
function useRows<T extends { id: string }>(parts: readonly string[], limit?: number): List<T> {
  const list = useList<T>(pathOf(parts, { limit }));
  useEffect(() => cacheRecords(parts, list.rows), [list.rows]);
  return list;
}

/** The names of the current level and those above it, as far as they are loaded; else the beginning of the id. */
function useTrail([dataset = '', document, segment]: readonly string[]) {
  const path = ['admin', 'datasets', dataset];
  const inDataset = useRecord<Dataset>(path);
  path.push('documents', document ?? '');
  const inDocument = useRecord<Document>(document === undefined ? undefined : path);
  path.push('segments', segment ?? '');
  const inSegment = useRecord<Segment>(segment === undefined ? undefined : path);
  const names = [
    inDataset?.name || `Dataset ${dataset.slice(0, 8)}`,
    document === undefined ? [] : inDocument?.name || `Document ${document.slice(0, 8)}`,
    segment === undefined ? [] : `Segment ${inSegment?.position ?? segment.slice(0, 8)}`,
  ].flat();
  const ids = [dataset, document ?? '', segment ?? ''];
  const crumbs = names.map((name, index) => ({ name, href: hrefOf('knowledge', ...ids.slice(0, index + 1)) }));
  const trail = [{ name: 'Knowledge', href: hrefOf('knowledge') }, ...crumbs.slice(0, -1)];
  return { trail, name: names.at(-1) ?? '', content: inSegment?.content };
}
