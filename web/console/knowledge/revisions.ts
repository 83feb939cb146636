import { h, useEffect, useState } from '../../shared/dom.ts';
import type { ApiError } from '../parts/api.ts';
import { readChunk } from '../parts/child-chunk.ts';
import type { ChildChunk, ChildChunkRevision } from '../parts/types.ts';
import { ErrorNote, ListEnd, Time } from '../parts/ui.ts';
import { useList } from '../parts/use-list.ts';
import { Diff } from './diff-view.ts';

type RevisionsProps = {
  path: string;
  /** Gets the current chunk, which may have changed since it was listed. */
  update: (chunk: ChildChunk) => void;
  restore: (content: string) => void;
};

/** The earlier texts of a chunk, newest first, each compared with the current text. */
export function Revisions({ path, update, restore }: RevisionsProps) {
  const list = useList<ChildChunkRevision>(`${path}/revisions`);
  const [current, setCurrent] = useState<ChildChunk>();
  const [error, setError] = useState<ApiError>();
  const read = () => {
    setError(undefined);
    readChunk(path).then(({ chunk }) => {
      setCurrent(chunk);
      update(chunk);
    }, setError);
  };
  useEffect(read, [path]);
  if (error !== undefined) return h(ErrorNote, { error, retry: read });
  return h(
    'section',
    { class: 'stack', 'aria-label': 'History' },
    current !== undefined &&
      list.rows.map((revision) => h(RevisionEntry, { key: revision.revision, revision, current, restore })),
    h(ListEnd, { list, nothing: 'This text has never been changed.' }),
  );
}

type EntryProps = { revision: ChildChunkRevision; current: ChildChunk; restore: (content: string) => void };

function RevisionEntry({ revision: { revision, content, replaced_at, ...key }, current, restore }: EntryProps) {
  const [isOpen, setOpen] = useState(false);
  const isSame = content === current.content;
  return h(
    'details',
    {
      class: 'revision',
      onToggle: ({ currentTarget }: { currentTarget: HTMLDetailsElement }) => setOpen(currentTarget.open),
    },
    h(
      'summary',
      null,
      h('b', null, `Revision ${revision}`),
      h('span', { class: 'soft' }, ' replaced ', h(Time, { at: replaced_at }), ' by ', h(By, key)),
    ),
    isOpen &&
      h(
        'div',
        { class: 'stack' },
        h(Diff, { before: content, after: current.content, label: `From revision ${revision} to the current text` }),
        h(
          'div',
          { class: 'row' },
          h(
            'button',
            { type: 'button', disabled: isSame, onClick: () => restore(content) },
            `Restore revision ${revision}`,
          ),
          isSame && h('span', { class: 'soft' }, 'It is the current text.'),
        ),
      ),
  );
}

function By({ key_id, key_name }: Pick<ChildChunkRevision, 'key_id' | 'key_name'>) {
  if (key_id === null) return 'an import';
  return h('span', { title: `key ${key_id}` }, key_name || `key ${key_id.slice(0, 8)}`);
}
