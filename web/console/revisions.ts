import { h, useEffect, useState } from '../shared/dom.ts';
import type { ApiError } from './api.ts';
import { readChunk } from './child-chunk.ts';
import { Diff } from './diff-view.ts';
import type { ChildChunk, ChildChunkRevision } from './types.ts';
import { ErrorNote, ListEnd, Time } from './ui.ts';
import { useList } from './use-list.ts';

type RevisionsProps = {
  path: string;
  /** Told of the chunk as it stands: it may have changed since it was listed. */
  seen: (chunk: ChildChunk) => void;
  restore: (content: string) => void;
};

/** The earlier texts of a chunk, newest first, each against what stands. */
export function Revisions({ path, seen, restore }: RevisionsProps) {
  const list = useList<ChildChunkRevision>(`${path}/revisions`);
  const [stands, setStands] = useState<ChildChunk>();
  const [error, setError] = useState<ApiError>();
  const read = () => {
    setError(undefined);
    readChunk(path).then(({ chunk }) => {
      setStands(chunk);
      seen(chunk);
    }, setError);
  };
  useEffect(read, [path]);
  if (error !== undefined) return h(ErrorNote, { error, retry: read });
  return h(
    'section',
    { class: 'stack', 'aria-label': 'History' },
    stands !== undefined &&
      list.rows.map((revision) => h(RevisionEntry, { key: revision.revision, revision, stands, restore })),
    h(ListEnd, { list, nothing: 'This text was never replaced.' }),
  );
}

type EntryProps = { revision: ChildChunkRevision; stands: ChildChunk; restore: (content: string) => void };

function RevisionEntry({ revision: { revision, content, replaced_at, ...key }, stands, restore }: EntryProps) {
  const [isOpen, setOpen] = useState(false);
  const isSame = content === stands.content;
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
        h(Diff, { before: content, after: stands.content, label: `From revision ${revision} to what stands now` }),
        h(
          'div',
          { class: 'row' },
          h(
            'button',
            { type: 'button', disabled: isSame, onClick: () => restore(content) },
            `Restore revision ${revision}`,
          ),
          isSame && h('span', { class: 'soft' }, 'It is what stands now.'),
        ),
      ),
  );
}

function By({ key_id, key_name }: Pick<ChildChunkRevision, 'key_id' | 'key_name'>) {
  if (key_id === null) return 'an import';
  return h('span', { title: `key ${key_id}` }, key_name || `key ${key_id.slice(0, 8)}`);
}
